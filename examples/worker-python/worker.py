"""A Baton worker in Python, on stubs that are generated from Baton's protos.

    BATON_TARGET=127.0.0.1:7420 BATON_CREDENTIAL=sbk_... python worker.py

It claims todos one by one, keeps each lease alive while it works, and completes with an artifact. With
BATON_ONCE=1 it ends after the first.
"""

import os
import sys
import threading

import grpc
from google.protobuf.duration_pb2 import Duration
from baton.worker.v1 import worker_pb2 as worker
from baton.worker.v1 import worker_pb2_grpc
from lf.a2a.v1 import a2a_pb2 as a2a

LEASE_SECONDS = 60


def keep_alive(stub, todo, metadata, finished):
    """Extends the lease at a third of its length until the work is finished or the todo is lost."""
    while not finished.wait(LEASE_SECONDS / 3):
        try:
            stub.Heartbeat(worker.HeartbeatRequest(id=todo.id), metadata=metadata)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.ABORTED:
                return


def handle(todo):
    """The work itself. Delivery is at least once, so it must be safe to do twice."""
    words = " ".join(part.text for part in todo.message.parts if part.HasField("text"))
    return words[::-1]


def work_once(stub, metadata):
    """Claims a todo, does it and reports how it went. False when there was nothing to do."""
    claim = worker.ClaimRequest(
        wait=Duration(seconds=20),
        lease_ttl=Duration(seconds=LEASE_SECONDS),
        claimant="python",
    )
    todo = stub.Claim(claim, metadata=metadata).todo
    if not todo.id:
        return False
    finished = threading.Event()
    lease = threading.Thread(target=keep_alive, args=(stub, todo, metadata, finished), daemon=True)
    lease.start()
    try:
        text = handle(todo)
    except Exception as error:  # what the handler raises is an attempt that failed, and may be tried again
        stub.Fail(worker.FailRequest(id=todo.id, summary=str(error)), metadata=metadata)
        return True
    finally:
        finished.set()
    artifact = a2a.Artifact(name="reversed", parts=[a2a.Part(text=text)])
    try:
        stub.Complete(worker.CompleteRequest(id=todo.id, artifacts=[artifact]), metadata=metadata)
    except grpc.RpcError as error:
        # ABORTED: it was canceled meanwhile, or the lease was lost and somebody else has it.
        if error.code() != grpc.StatusCode.ABORTED:
            raise
    return True


def main():
    metadata = [("authorization", f"Bearer {os.environ['BATON_CREDENTIAL']}")]
    once = os.environ.get("BATON_ONCE") == "1"
    with grpc.insecure_channel(os.environ["BATON_TARGET"]) as channel:
        stub = worker_pb2_grpc.WorkerServiceStub(channel)
        while True:
            if work_once(stub, metadata) and once:
                return 0


if __name__ == "__main__":
    sys.exit(main())
