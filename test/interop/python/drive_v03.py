"""Drives a gateway with the last official Python client of the 0.3 line; prints what it saw as one JSON object.

Arguments: base URL, credential, transport (JSONRPC, HTTP+JSON, GRPC).
"""

import asyncio
import json
import sys
import uuid

import grpc
import httpx

from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    GetTaskPushNotificationConfigParams,
    Message,
    Part,
    PushNotificationConfig,
    Role,
    Task,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskStatusUpdateEvent,
    TextPart,
)


class UnaryCredential(grpc.aio.UnaryUnaryClientInterceptor):
    """Sends the credential with a unary call; this client has no other place for metadata."""

    def __init__(self, token: str):
        self.token = token

    async def intercept_unary_unary(self, continuation, details, request):
        return await continuation(with_credential(details, self.token), request)


class StreamCredential(grpc.aio.UnaryStreamClientInterceptor):
    """The same for a stream: gRPC takes one kind of call from each interceptor."""

    def __init__(self, token: str):
        self.token = token

    async def intercept_unary_stream(self, continuation, details, request):
        return await continuation(with_credential(details, self.token), request)


def with_credential(details, token: str):
    pair = ("authorization", f"Bearer {token}")
    return details._replace(metadata=grpc.aio.Metadata(*(details.metadata or ()), pair))


def message(text: str, task: Task | None = None) -> Message:
    return Message(
        message_id=str(uuid.uuid4()),
        role=Role.user,
        task_id=task.id if task else None,
        context_id=task.context_id if task else None,
        parts=[Part(root=TextPart(text=text))],
    )


def brief(event: tuple) -> str:
    task, update = event
    if update is None:
        return f"task {task.status.state.value}"
    if isinstance(update, TaskStatusUpdateEvent):
        return f"status {update.status.state.value}{' final' if update.final else ''}"
    return "artifact"


async def main(url: str, token: str, transport: str) -> dict:
    seen: dict = {}
    headers = {"authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(timeout=30, headers=headers) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        others = card.additional_interfaces or []
        seen["offered"] = [card.preferred_transport, *(each.transport for each in others)].count(transport)

        def client(streaming: bool, polling: bool = False):
            config = ClientConfig(
                streaming=streaming,
                polling=polling,
                httpx_client=http,
                grpc_channel_factory=lambda address: grpc.aio.insecure_channel(
                    address, interceptors=[UnaryCredential(token), StreamCredential(token)]
                ),
                supported_transports=[transport],
            )
            return ClientFactory(config).create(card)

        waiting, polling, streaming = client(False), client(False, True), client(True)

        async def send(who, text: str, task: Task | None = None) -> list[tuple]:
            return [event async for event in who.send_message(message(text, task))]

        async def last(who, text: str, task: Task | None = None) -> Task:
            return (await send(who, text, task))[-1][0]

        async def failure(call) -> str:
            try:
                await call
            except Exception as error:  # noqa: BLE001 - what the error says is what is looked at
                return str(error)
            return "nothing"

        done = await last(waiting, "echo")
        seen["send"] = [done.status.state.value, [part.root.text for a in done.artifacts for part in a.parts]]
        # The task in an event is one object that the client keeps up to date: look at it as it comes.
        seen["stream"] = [brief(event) async for event in streaming.send_message(message("chunks"))]

        slow = await last(polling, "slow")
        watched = []
        async for event in streaming.resubscribe(TaskIdParams(id=slow.id)):
            watched.append(brief(event))
            break
        async for event in streaming.resubscribe(TaskIdParams(id=slow.id)):
            watched.append(brief(event))
        seen["subscribe"] = watched

        asked = await last(waiting, "ask")
        answered = await last(waiting, "that", asked)
        seen["ask"] = [asked.status.state.value, answered.status.state.value, asked.id == answered.id]

        idle = await last(polling, "wait")
        canceled = await waiting.cancel_task(TaskIdParams(id=idle.id))
        got = await waiting.get_task(TaskQueryParams(id=idle.id, history_length=1))
        seen["cancel"] = [canceled.status.state.value, got.status.state.value, len(got.history or [])]

        def push(address: str) -> TaskPushNotificationConfig:
            config = PushNotificationConfig(id="mine", url=address)
            return TaskPushNotificationConfig(task_id=slow.id, push_notification_config=config)

        made = await waiting.set_task_callback(push("https://127.0.0.1:1029/hook"))
        named = GetTaskPushNotificationConfigParams(id=slow.id, push_notification_config_id="mine")
        read = await waiting.get_task_callback(named)
        seen["push"] = [made.push_notification_config.id, read.push_notification_config.url]
        seen["refused"] = await failure(waiting.set_task_callback(push("http://127.0.0.1:1029/hook")))
        seen["unknown"] = await failure(waiting.get_task(TaskQueryParams(id="never-was")))
        seen["ended"] = await failure(send(waiting, "more", canceled))
    return seen


print(json.dumps(asyncio.run(main(*sys.argv[1:4]))))
