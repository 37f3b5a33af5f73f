/** Everything that can be done in the console, in a browser, and what comes of it at the gateway. */
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { launch, missingBrowser, openPage, signIn, type WatchedPage } from "./browser.ts";
import { type Stage, startStage } from "./stage.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
type Json = any;

let stage: Stage;
let browser: Browser;
let watched: WatchedPage;
let page: Page;
let url: string;

const show = (path: string) => page.goto(url + path);
const notice = (text: string | RegExp) => page.locator(".notice").filter({ hasText: text }).waitFor();
const dialog = (name: string | RegExp): Locator => page.getByRole("dialog", { name });
const press = (name: string | RegExp, within: Page | Locator = page) =>
  within.getByRole("button", { name, exact: typeof name === "string" }).click();
const admin = async (service: string, method: string, body: object): Promise<Json> =>
  (await stage.gateway.admin(method, body, service)).json();
const audited = async (action: string): Promise<Json[]> =>
  (await admin("AuditService", "ListAuditEntries", { action })).entries ?? [];

describe.skipIf(missingBrowser)("in the console", () => {
  beforeAll(async () => {
    [stage, browser] = await Promise.all([startStage(), launch()]);
    url = String(stage.gateway.consoleUrl);
    watched = await openPage(browser);
    page = watched.page;
    await watched.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await signIn(page, url, stage.gateway.adminToken);
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.stop();
  });
  beforeEach(() => expect(watched?.faults).toEqual([]));

  describe("tasks", () => {
    it("are filtered by state and id, in the address, and turned page by page", async () => {
      const failed = await stage.send("Fail at once");
      await stage.until(failed, "TASK_STATE_FAILED");
      const sent: string[] = [];
      for (let page = 0; page < 54; page += 1)
        sent.push(await stage.send(`Page ${page}`, { queue: "reports" }));
      await show("/tasks");
      const rows = page.locator("tbody tr");
      await expect.poll(() => rows.count()).toBe(50);
      await page.getByText("Page 53", { exact: true }).waitFor();
      await press("Older");
      await page.getByText("Page 2", { exact: true }).waitFor();
      await press("Newer");
      await page.getByText("Page 53", { exact: true }).waitFor();

      await page.getByLabel("State").selectOption("failed");
      await expect.poll(() => rows.count()).toBe(1);
      expect(new URL(page.url()).search).toBe("?state=failed");
      // The address alone says what is shown.
      await page.reload();
      await page.getByText("Fail at once").waitFor();
      await expect.poll(() => rows.count()).toBe(1);

      await page.getByLabel("State").selectOption("");
      await page.getByLabel("Id starts with").fill(String(sent[7]));
      await expect.poll(() => rows.count()).toBe(1);
      await page.getByText("Page 7", { exact: true }).waitFor();
      await page.getByLabel("Id starts with").fill("td_none");
      await page.getByText("No task matches these filters.").waitFor();

      await show("/tasks?queue=reports");
      await page.getByRole("button", { name: /queue reports/ }).click();
      await expect.poll(() => new URL(page.url()).search).toBe("");
    });

    it("appear without a reload", async () => {
      await show("/tasks");
      await page.getByRole("table").waitFor();
      await stage.send("Say that it is new", { queue: "reports" });
      await page.getByText("Say that it is new").waitFor();
    });

    it("are canceled, for a reason that the audit keeps", async () => {
      const id = await stage.send("Hold until you are stopped");
      await stage.until(id, "TASK_STATE_WORKING");
      await show(`/agents/default/tasks/${id}`);
      await press("Cancel task");
      await dialog("Cancel this task?").getByLabel("Reason").fill("not needed any more");
      await press("Cancel the task");
      await notice("The task is canceled.");
      await page.getByText("canceled", { exact: true }).first().waitFor();
      await stage.until(id, "TASK_STATE_CANCELED");
      expect((await audited("CancelTask"))[0]).toMatchObject({ target: id, reason: "not needed any more" });
      await expect.poll(() => page.getByRole("button", { name: "Cancel task" }).count()).toBe(0);
    });

    it("are left as they are when the question is not confirmed", async () => {
      const id = await stage.send("Hold on");
      await stage.until(id, "TASK_STATE_WORKING");
      await show(`/agents/default/tasks/${id}`);
      await press("Cancel task");
      await press("Leave it");
      await press("Cancel task");
      await dialog("Cancel this task?").waitFor();
      await page.keyboard.press("Escape");
      await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
      expect((await stage.until(id, "TASK_STATE_WORKING")).id).toBe(id);
    });

    it("are retried, and say so in their timeline", async () => {
      const id = await stage.send("Fail again and again");
      await stage.until(id, "TASK_STATE_FAILED");
      await show(`/agents/default/tasks/${id}`);
      await press("Retry");
      await press("Retry", dialog("Retry this task?"));
      await notice("The task can be claimed again.");
      await expect
        .poll(() => page.locator(".timeline").textContent(), { timeout: 8000 })
        .toMatch(/retried by operator|retry/);
      await stage.until(id, "TASK_STATE_FAILED");
      await show(`/agents/default/tasks/${id}?view=attempts`);
      await page.getByText("#2").waitFor();
    });

    it("are answered, and what follows is seen live", async () => {
      const id = await stage.send("Ask about the gate");
      await stage.until(id, "TASK_STATE_INPUT_REQUIRED");
      await show(`/agents/default/tasks/${id}`);
      await page.getByText("It waits for an answer").waitFor();
      await press("Reply");
      const reply = dialog(/Reply to/);
      await reply.getByText("Which colour should the door have?").waitFor();
      expect(await reply.getByRole("button", { name: "Send the reply" }).isDisabled()).toBe(true);
      await reply.getByLabel("Message").fill("green");
      await press("Send the reply");
      await notice("The reply was sent.");
      await page.getByText("completed", { exact: true }).first().waitFor();
      const task: Json = await stage.until(id, "TASK_STATE_COMPLETED");
      expect(task.artifacts[0].parts[0].text).toBe("It is green now.");
      await page.getByRole("link", { name: /Artifacts/ }).click();
      await page.getByText("It is green now.").waitFor();
    });

    it("name their ids to be copied, and their files to be saved", async () => {
      const id = await stage.send("Report to be saved");
      await stage.until(id, "TASK_STATE_COMPLETED");
      await show(`/agents/default/tasks/${id}?view=artifacts`);
      await press("Copy the task id");
      await notice("Copied the task id.");
      expect(await page.evaluate("navigator.clipboard.readText()")).toBe(id);
      const [download] = await Promise.all([page.waitForEvent("download"), press("Save")]);
      expect(download.suggestedFilename()).toBe("q3.csv");
    });
  });

  describe("the inbox", () => {
    it("approves a friend request, for less than was asked", async () => {
      const id = await stage.askForFriendship("the narrowed one");
      await show("/inbox");
      await press("Approve the request of the narrowed one");
      const form = dialog("Approve the request of the narrowed one");
      await form.getByLabel("create_for").uncheck();
      await form.getByText("Keep a queue and a verb, or deny the request.").waitFor();
      expect(await form.getByRole("button", { name: "Approve" }).isDisabled()).toBe(true);
      await form.getByLabel("create_for").check();
      await form.getByLabel("Open streams").uncheck();
      await form.getByLabel("Ends").fill("2000-01-01T00:00");
      await press("Approve", form);
      await form.getByText("Ends must lie in the future.").waitFor();
      await form.getByLabel("Ends").fill("2099-01-01T00:00");
      await press("Approve", form);
      await notice("the narrowed one may hand work to default.");
      const { grant } = await admin("GrantService", "GetGrant", { id });
      expect([grant.state, grant.requested.streaming, grant.granted.streaming ?? false]).toEqual([
        "GRANT_STATE_APPROVED",
        true,
        false,
      ]);
    });

    it("makes a new pickup token, shown once, and ends a friendship", async () => {
      await show("/inbox?state=approved");
      await press(/Make a new pickup token for the request of the narrowed one/);
      await press("Make it");
      const secret = dialog("The new pickup token");
      const token = String(await secret.locator("[data-secret]").textContent());
      expect(token).toMatch(/^sbp_/);
      // Escape does not lose it.
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      expect(await secret.isVisible()).toBe(true);
      await press("I have stored it");
      expect(await page.getByText(token).count()).toBe(0);
      await press("Revoke the request of the narrowed one");
      await press("Revoke", dialog(/Revoke the friendship/));
      await notice(/The friendship has ended/);
      await show("/inbox?state=revoked");
      await press("Delete the request of the narrowed one");
      await press("Delete", dialog(/Delete the request/));
      await notice("The request was deleted.");
      await page.getByText("No such friend requests.").waitFor();
    });

    it("denies a friend request", async () => {
      const id = await stage.askForFriendship("a stranger");
      await show("/inbox");
      await press("Deny the request of a stranger");
      await press("Deny", dialog(/Deny the request/));
      await notice("The request is denied.");
      expect((await admin("GrantService", "GetGrant", { id })).grant.state).toBe("GRANT_STATE_DENIED");
    });

    it("answers a task that asks", async () => {
      const id = await stage.send("Ask about the window");
      await stage.until(id, "TASK_STATE_INPUT_REQUIRED");
      await show("/inbox?kind=tasks");
      await press("Reply to Ask about the window");
      await dialog(/Reply to/)
        .getByLabel("Message")
        .fill("blue");
      await press("Send the reply");
      await stage.until(id, "TASK_STATE_COMPLETED");
      await expect.poll(() => page.getByText("Ask about the window").count(), { timeout: 10_000 }).toBe(0);
    });
  });

  describe("dead letters", () => {
    it("are retried where they are tasks", async () => {
      const id = await stage.send("Fail once more");
      await stage.until(id, "TASK_STATE_FAILED");
      await show("/dead-letters");
      await press("Retry Fail once more");
      await press("Retry", dialog(/Retry “Fail once more”/));
      await notice("It can be claimed from default again.");
      expect(await audited("RetryTodo")).toMatchObject([{ target: id }]);
    });

    it("are replayed and removed where they are pushes", async () => {
      const refused = await stage.send("Say it to deaf ears", { refused: true });
      await stage.until(refused, "TASK_STATE_COMPLETED");
      // Created, claimed, its artifact, completed.
      const dead = 4;
      await stage.untilDead(dead);
      await show("/dead-letters?kind=pushes");
      const boxes = page.getByRole("checkbox", { name: /Choose the push/ });
      const before = stage.receiver.hits.length;
      await expect.poll(() => boxes.count()).toBe(dead);
      await page.getByRole("button", { name: "Replay", exact: true }).first().click();
      await press("Replay", dialog("Replay this push?"));
      await notice("1 on the way again.");
      await stage.receiver.until(before + 1);
      // The receiver refuses it once more, so that it comes back.
      await expect.poll(() => boxes.count(), { timeout: 15_000 }).toBe(dead);

      await page.getByRole("checkbox", { name: /^All/ }).check();
      await press(`Remove ${dead}`);
      await press("Remove for good", dialog(/Remove/));
      await notice(`${dead} removed.`);
      await page.getByText("No push was given up.").waitFor();
    });
  });

  describe("endpoints", () => {
    it("are vended, and their credential is shown this once and works", async () => {
      await show("/endpoints");
      await press("Vend an endpoint");
      const form = dialog("Vend an endpoint");
      await form.getByLabel("Name").fill("a printer");
      await form.getByLabel("Expires").fill("2000-01-01T00:00");
      await press("Vend", form);
      // The gateway names the field, and so does the form.
      await form.getByText(/Expires must/).waitFor();
      expect(await form.getByLabel("Expires").getAttribute("aria-invalid")).toBe("true");
      await form.getByLabel("Expires").fill("");
      await form.getByLabel("reports").check();
      await press("Vend", form);
      const credential = String(
        await dialog("The credential of “a printer”").locator("[data-secret]").textContent(),
      );
      await press("Copy the credential");
      // Where the notice is behind the dialog, the button says it.
      await page.getByRole("button", { name: "Copied the credential" }).waitFor();
      expect(await page.evaluate("navigator.clipboard.readText()")).toBe(credential);
      await press("I have stored it");
      await page.getByRole("link", { name: "a printer" }).waitFor();
      expect(await page.getByText(credential).count()).toBe(0);
      const { error } = await stage.gateway.rpc(credential, "SendMessage", {
        message: { messageId: "m-1", role: "ROLE_USER", parts: [{ text: "Say hello" }] },
        metadata: { queue: "reports" },
        configuration: { returnImmediately: true },
      });
      expect(error).toBeUndefined();
    });

    it("are vended with chosen verbs", async () => {
      await show("/endpoints?new=yes");
      const form = dialog("Vend an endpoint");
      await form.getByLabel("Name").fill("a reader");
      await form.getByLabel("It may").selectOption("chosen verbs");
      await form.getByLabel("create_for").uncheck();
      await form.getByLabel("list_todos").check();
      await press("Vend", form);
      await press("I have stored it");
      const { endpoints } = await admin("EndpointService", "ListEndpoints", {});
      const made = endpoints.find(({ name }: Json) => name === "a reader");
      expect(made.scope).toMatchObject({ queues: ["default"], verbs: ["list_todos"] });
    });

    it("are found, changed, revoked and deleted", async () => {
      await show("/endpoints");
      await page.getByLabel("Name, owner or id").fill("printer");
      await expect.poll(() => page.locator("tbody tr").count()).toBe(1);
      await page.getByRole("link", { name: "a printer" }).click();
      await press("Change");
      const form = dialog(/Change/);
      await form.getByLabel("Default lease, in seconds").fill("5");
      await press("Save");
      await form.getByText(/Default lease, in seconds .*60/).waitFor();
      await form.getByLabel("Default lease, in seconds").fill("120");
      await form.getByLabel("Name").fill("an old printer");
      await press("Save");
      await page.getByRole("heading", { name: "an old printer" }).waitFor();
      await page.getByText("2 min", { exact: true }).waitFor();
      await press("Revoke");
      await press("Revoke", dialog(/Revoke/));
      await notice(/“an old printer” is revoked; 1 of its open tasks/);
      await press("Delete");
      await press("Delete", dialog(/Delete/));
      await notice("“an old printer” was deleted.");
      await page.getByRole("heading", { name: "Endpoints" }).waitFor();
      const { endpoints } = await admin("EndpointService", "ListEndpoints", { includeRevoked: true });
      expect(endpoints.map(({ name }: Json) => name)).not.toContain("an old printer");
    });
  });

  describe("what operators did", () => {
    it("is found by action, by target and by who did it", async () => {
      const id = await stage.send("Hold for the audit");
      await admin("TaskService", "CancelTask", { id, reason: "to be found" });
      await show("/audit");
      await page.getByLabel("Action contains").fill("CancelTask");
      await expect.poll(() => new URL(page.url()).search).toBe("?action=CancelTask");
      await page.getByText("“to be found”").waitFor();
      await page.getByRole("link", { name: id }).click();
      await page.getByRole("button", { name: `target ${id}` }).waitFor();
      await show("/audit?action=NothingOfTheKind");
      await page.getByText("No entry matches these filters.").waitFor();
    });
  });

  describe("queues", () => {
    it("lead to their tasks, and workers to what they hold", async () => {
      const id = await stage.send("Hold the pen");
      await stage.until(id, "TASK_STATE_WORKING");
      await show("/queues");
      await page.getByRole("link", { name: "Hold the pen" }).click();
      await page.getByRole("heading", { name: "Hold the pen" }).waitFor();
      await show("/queues");
      await page.getByRole("link", { name: "default / reports" }).click();
      await page.getByRole("heading", { name: "Tasks" }).waitFor();
      expect(new URL(page.url()).search).toBe("?agent=default&queue=reports");
    });
  });
});
