/** Send requests: package a2a.v1 (0.3) and package lf.a2a.v1 (1.0), both ways. */
import { create } from "@bufbuild/protobuf";
import {
  type SendMessageRequest as OldSendMessageRequest,
  SendMessageRequestSchema as OldSendMessageRequestSchema,
} from "../../../../../gen/a2a/v1/a2a_pb.js";
import { type SendMessageRequest, SendMessageRequestSchema } from "../../../../../gen/lf/a2a/v1/a2a_pb.js";
import { whenSet } from "../when-set.ts";
import { messageFromV03, messageToV03 } from "./message.ts";
import { pushConfigFromV03, pushConfigToV03 } from "./push-config.ts";

/** `int32 history_length` has no presence in 0.3: 0 is no limit (A2A-170). */
export function historyLengthFromV03(length: number): number | undefined {
  return length === 0 ? undefined : length;
}

/** `blocking` has no presence either: in a configuration false and absent are one, and do not wait (A2A-164). */
export function sendRequestFromV03(request: OldSendMessageRequest): SendMessageRequest {
  const { request: message, configuration, metadata } = request;
  const push = configuration?.pushNotification;
  return create(SendMessageRequestSchema, {
    ...(message === undefined ? {} : { message: messageFromV03(message) }),
    ...(configuration === undefined
      ? {}
      : {
          configuration: {
            acceptedOutputModes: configuration.acceptedOutputModes,
            returnImmediately: !configuration.blocking,
            ...whenSet("historyLength", historyLengthFromV03(configuration.historyLength)),
            ...(push === undefined
              ? {}
              : { taskPushNotificationConfig: pushConfigFromV03(push, { taskId: "", configId: "" }) }),
          },
        }),
    ...whenSet("metadata", metadata),
  });
}

/** A history length of 0 asks for no history, which the 0.3 proto cannot say: it becomes no limit. */
export function sendRequestToV03(request: SendMessageRequest): OldSendMessageRequest {
  const { message, configuration, metadata } = request;
  const push = configuration?.taskPushNotificationConfig;
  return create(OldSendMessageRequestSchema, {
    ...(message === undefined ? {} : { request: messageToV03(message) }),
    ...(configuration === undefined
      ? {}
      : {
          configuration: {
            acceptedOutputModes: configuration.acceptedOutputModes,
            blocking: !configuration.returnImmediately,
            historyLength: configuration.historyLength ?? 0,
            ...(push === undefined ? {} : { pushNotification: pushConfigToV03(push) }),
          },
        }),
    ...whenSet("metadata", metadata),
  });
}
