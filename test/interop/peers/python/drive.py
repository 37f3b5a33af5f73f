"""Drives a gateway with the official Python client and prints what it saw, as one JSON object.

Arguments: base URL, credential, binding (JSONRPC, HTTP+JSON, GRPC), protocol version (1.0, 0.3).
"""

import asyncio
import json
import sys
import uuid

import grpc
import httpx

from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.client import ClientCallContext
from a2a.types import a2a_pb2 as pb


def message(text: str, task_id: str = "") -> pb.Message:
    return pb.Message(
        message_id=str(uuid.uuid4()),
        role=pb.Role.ROLE_USER,
        task_id=task_id,
        parts=[pb.Part(text=text)],
    )


def state(task: pb.Task) -> str:
    return pb.TaskState.Name(task.status.state)


def texts(task: pb.Task) -> list[str]:
    return [part.text for artifact in task.artifacts for part in artifact.parts]


def brief(event: pb.StreamResponse) -> str:
    kind = event.WhichOneof("payload")
    if kind == "task":
        return f"task {state(event.task)}"
    if kind == "status_update":
        return f"status {pb.TaskState.Name(event.status_update.status.state)}"
    return str(kind)


async def main(url: str, token: str, binding: str, version: str) -> dict:
    seen: dict = {}
    async with httpx.AsyncClient(timeout=30) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        kept = [
            interface
            for interface in card.supported_interfaces
            if interface.protocol_binding == binding and interface.protocol_version == version
        ]
        seen["offered"] = len(kept)
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(kept)

        def client(streaming: bool):
            config = ClientConfig(
                streaming=streaming,
                httpx_client=http,
                grpc_channel_factory=grpc.aio.insecure_channel,
                supported_protocol_bindings=[binding],
            )
            return ClientFactory(config).create(card)

        context = ClientCallContext(service_parameters={"authorization": f"Bearer {token}"}, timeout=30)
        plain, streaming = client(False), client(True)

        async def send(who, text: str, task_id: str = "", wait: bool = True) -> list[pb.StreamResponse]:
            request = pb.SendMessageRequest(
                message=message(text, task_id),
                configuration=pb.SendMessageConfiguration(return_immediately=not wait),
            )
            return [event async for event in who.send_message(request, context=context)]

        async def started(text: str) -> str:
            return (await send(plain, text, wait=False))[-1].task.id

        async def failure(call) -> str:
            try:
                await call
            except Exception as error:  # noqa: BLE001 - the kind of the error is what is looked at
                return type(error).__name__
            return "nothing"

        done = (await send(plain, "echo"))[-1].task
        seen["send"] = [state(done), texts(done)]
        seen["stream"] = [brief(event) for event in await send(streaming, "chunks")]

        slow = await started("slow")
        watched = []
        async for event in streaming.subscribe(pb.SubscribeToTaskRequest(id=slow), context=context):
            watched.append(brief(event))
            break
        async for event in streaming.subscribe(pb.SubscribeToTaskRequest(id=slow), context=context):
            watched.append(brief(event))
        seen["subscribe"] = watched

        asked = (await send(plain, "ask"))[-1].task
        answered = (await send(plain, "that", asked.id))[-1].task
        seen["ask"] = [state(asked), state(answered), asked.id == answered.id]

        if version == "1.0":
            page = await plain.list_tasks(pb.ListTasksRequest(page_size=2), context=context)
            seen["list"] = [len(page.tasks), page.total_size, page.next_page_token != ""]
        waiting = await started("wait")
        canceled = await plain.cancel_task(pb.CancelTaskRequest(id=waiting), context=context)
        seen["cancel"] = state(canceled)
        seen["get"] = state(await plain.get_task(pb.GetTaskRequest(id=waiting), context=context))
        seen["unknown"] = await failure(plain.get_task(pb.GetTaskRequest(id="never-was"), context=context))
        config = pb.TaskPushNotificationConfig(task_id=waiting, url="https://127.0.0.1/hook")
        seen["push"] = await failure(plain.create_task_push_notification_config(config, context=context))
        seen["ended"] = await failure(send(plain, "more", waiting))
    return seen


print(json.dumps(asyncio.run(main(*sys.argv[1:5]))))
