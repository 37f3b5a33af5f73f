import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { CreateTaskPushNotificationConfigRequestSchema } from "../../../gen/a2a/v1/a2a_pb.js";
import {
  type A2AService,
  ListTaskPushNotificationConfigsResponseSchema,
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { BatonError, taskNotFound } from "../../../src/domain/errors.ts";
import type { Call, Handlers } from "../../../src/service/call.ts";
import { createV03Service } from "../../../src/transports/v03/grpc/service.ts";
import { v03Bindings } from "../../../src/transports/v03/jsonrpc/bindings.ts";
import { protoCreateBody } from "../../../src/transports/v03/rest/kind-body.ts";
import { parseConfigName, taskIdOf } from "../../../src/transports/v03/translate/proto/names.ts";

// The registrations of a task, kept as the 1.0 operations promise it, two on a page. The rest of the service is not called.
function registrations() {
  const kept: TaskPushNotificationConfig[] = [];
  const handlers = {
    createTaskPushNotificationConfig: async (config: TaskPushNotificationConfig) => {
      const at = kept.findIndex(({ id }) => id === config.id);
      if (at < 0) kept.push(config);
      else kept[at] = config;
      return config;
    },
    getTaskPushNotificationConfig: async ({ taskId, id }: { taskId: string; id: string }) => {
      const config = kept.find((each) => each.taskId === taskId && each.id === id);
      if (config === undefined) throw taskNotFound(taskId);
      return config;
    },
    listTaskPushNotificationConfigs: async ({ pageToken }: { pageToken: string }) => {
      const from = Number(pageToken || 0);
      return create(ListTaskPushNotificationConfigsResponseSchema, {
        configs: kept.slice(from, from + 2),
        nextPageToken: from + 2 < kept.length ? String(from + 2) : "",
      });
    },
    deleteTaskPushNotificationConfig: async ({ id }: { id: string }) => {
      const at = kept.findIndex((each) => each.id === id);
      if (at >= 0) kept.splice(at, 1);
      return create(EmptySchema);
    },
  } as unknown as Handlers<typeof A2AService>;
  return { kept, service: createV03Service(handlers) };
}

const call = {} as Call;
const url = "https://receiver.example/a";

const createRequest = (configId: string, id = "", address = url) =>
  create(CreateTaskPushNotificationConfigRequestSchema, {
    parent: "tasks/t1",
    configId,
    config: {
      pushNotificationConfig: { id, url: address, authentication: { schemes: ["Bearer", "Basic"] } },
    },
  });

describe("push registrations of 0.3", () => {
  it("A2A-169 without an id have the id of their task, so that a second one replaces the first", async () => {
    const { kept, service } = registrations();
    const first = await service.createTaskPushNotificationConfig(createRequest(""), call);
    expect(first.name).toBe("tasks/t1/pushNotificationConfigs/t1");
    await service.createTaskPushNotificationConfig(createRequest("", "", `${url}2`), call);
    expect(kept.map((each) => [each.id, each.url])).toEqual([["t1", `${url}2`]]);
  });

  it("A2A-167 the first scheme counts; the id may stand in three places", async () => {
    const { kept, service } = registrations();
    await service.createTaskPushNotificationConfig(createRequest("a"), call);
    await service.createTaskPushNotificationConfig(createRequest("", "b"), call);
    const named = createRequest("");
    if (named.config !== undefined) named.config.name = "tasks/t1/pushNotificationConfigs/c";
    await service.createTaskPushNotificationConfig(named, call);
    expect(kept.map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect(kept[0]?.authentication?.scheme).toBe("Bearer");
  });

  it("A2A-168 read without an id: that of the task, else the oldest, else TaskNotFound", async () => {
    const { service } = registrations();
    const read = async (name: string) =>
      (await service.getTaskPushNotificationConfig({ name } as never, call)).name;
    await expect(read("tasks/t1")).rejects.toMatchObject({ kind: "TaskNotFound" });
    for (const id of ["a", "b", "c"]) await service.createTaskPushNotificationConfig(createRequest(id), call);
    for (const name of [
      "tasks/t1",
      "tasks/t1/pushNotificationConfigs",
      "tasks/t1/pushNotificationConfigs/",
    ]) {
      expect(await read(name)).toBe("tasks/t1/pushNotificationConfigs/a");
    }
    await service.createTaskPushNotificationConfig(createRequest(""), call);
    expect(await read("tasks/t1")).toBe("tasks/t1/pushNotificationConfigs/t1");
    expect(await read("tasks/t1/pushNotificationConfigs/b")).toBe("tasks/t1/pushNotificationConfigs/b");
  });

  it("A2A-106 lists all of them at once, or the page that was asked for", async () => {
    const { service } = registrations();
    for (const id of ["a", "b", "c"]) await service.createTaskPushNotificationConfig(createRequest(id), call);
    const list = (pageSize: number, pageToken = "") =>
      service.listTaskPushNotificationConfig({ parent: "tasks/t1", pageSize, pageToken } as never, call);
    expect((await list(0)).configs).toHaveLength(3);
    const page = await list(2);
    expect(page.configs).toHaveLength(2);
    expect((await list(2, page.nextPageToken)).configs).toHaveLength(1);
  });

  it("A2A-176 a registration without an address, or of another task than its name says, is refused", async () => {
    const { service } = registrations();
    const refusal = async (request: Parameters<typeof service.createTaskPushNotificationConfig>[0]) => {
      const thrown = await service
        .createTaskPushNotificationConfig(request, call)
        .catch((error: unknown) => error);
      return thrown instanceof BatonError ? thrown.violations[0]?.field : thrown;
    };
    expect(await refusal(createRequest("a", "", ""))).toBe("config.pushNotificationConfig.url");
    const other = createRequest("");
    if (other.config !== undefined) other.config.name = "tasks/t2/pushNotificationConfigs/c";
    expect(await refusal(other)).toBe("config.name");
  });
});

describe("JSON-RPC params of push registrations", () => {
  const bindings = v03Bindings();
  const read = (method: string, params: object) => bindings.get(method)?.readRequest(params as never);

  it("A2A-169 set without an id takes the task's", () => {
    const config = { url, token: "t", authentication: { schemes: ["Bearer"], credentials: "s" } };
    expect(
      read("tasks/pushNotificationConfig/set", { taskId: "t1", pushNotificationConfig: config }),
    ).toMatchObject({ taskId: "t1", id: "t1", url, token: "t", authentication: { scheme: "Bearer" } });
    expect(
      read("tasks/pushNotificationConfig/set", {
        taskId: "t1",
        pushNotificationConfig: { ...config, id: "c" },
      }),
    ).toMatchObject({ taskId: "t1", id: "c" });
  });

  it("prints the registration in its nested form, lists as an array, delete as null", () => {
    const config = create(TaskPushNotificationConfigSchema, {
      taskId: "t1",
      id: "c",
      url,
      authentication: { scheme: "Bearer", credentials: "" },
    });
    const nested = {
      taskId: "t1",
      pushNotificationConfig: { id: "c", url, authentication: { schemes: ["Bearer"] } },
    };
    const print = (method: string, result: object) =>
      JSON.parse(bindings.get(method)?.printResult(result as never, {} as never) ?? "");
    expect(print("tasks/pushNotificationConfig/set", config)).toEqual(nested);
    const old = {
      name: "tasks/t1/pushNotificationConfigs/c",
      pushNotificationConfig: {
        id: "c",
        url,
        token: "",
        authentication: { schemes: ["Bearer"], credentials: "" },
      },
    };
    expect(print("tasks/pushNotificationConfig/get", old)).toEqual(nested);
    expect(print("tasks/pushNotificationConfig/list", { configs: [old] })).toEqual([nested]);
    expect(print("tasks/pushNotificationConfig/delete", {})).toBeNull();
  });

  it("A2A-176 names what is missing in the words of 0.3", () => {
    const refusal = (method: string, params: object) => {
      const binding = bindings.get(method);
      try {
        binding?.readRequest(params as never);
      } catch (thrown) {
        const error = binding?.printError(thrown as BatonError) as { message: string };
        return error.message.split(":")[0];
      }
      return "accepted";
    };
    expect(refusal("tasks/pushNotificationConfig/set", { taskId: "t1" })).toBe("pushNotificationConfig");
    const config = { url: 1 };
    expect(
      refusal("tasks/pushNotificationConfig/set", { taskId: "t1", pushNotificationConfig: config }),
    ).toBe("pushNotificationConfig.url");
    expect(refusal("tasks/pushNotificationConfig/list", {})).toBe("id");
    expect(refusal("tasks/pushNotificationConfig/get", { id: "t", pushNotificationConfigId: 1 })).toBe(
      "pushNotificationConfigId",
    );
  });
});

describe("names and bodies of 0.3", () => {
  it("reads resource names, and refuses what is none", () => {
    expect(taskIdOf("tasks/a/b", "name")).toBe("a/b");
    for (const bad of ["", "tasks/", "task/a", "a"])
      expect(() => taskIdOf(bad, "name")).toThrow("tasks/{id}");
    expect(parseConfigName("tasks/a/pushNotificationConfigs/b/c", "name")).toEqual({
      taskId: "a",
      configId: "b/c",
    });
    for (const bad of ["tasks//pushNotificationConfigs/b", "tasks/a/pushNotificationConfigsX"]) {
      expect(() => parseConfigName(bad, "name")).toThrow();
    }
  });

  it("takes the body of a create as the tag has it, and as the whole request", () => {
    const config = { name: "n", pushNotificationConfig: { url } };
    const parent = "tasks/t1/pushNotificationConfigs";
    expect(protoCreateBody({ parent, config })).toEqual({ parent, config });
    expect(protoCreateBody({ parent, config: { parent: "tasks/t1", configId: "c", config } })).toEqual({
      parent,
      configId: "c",
      config,
    });
  });
});
