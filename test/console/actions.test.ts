/** What is decided, brought back and handed out in the console, in a browser, and what comes of it at the gateway. */
import { describe, expect } from "vitest";
import { missingBrowser } from "./browser.ts";
import { it, type Json } from "./hand.ts";

describe.skipIf(missingBrowser)("in the console", () => {
  describe("the inbox", () => {
    it("approves a friend request, for less than was asked", async ({
      stage,
      show,
      notice,
      dialog,
      press,
      admin,
    }) => {
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

    it("makes a new pickup token, shown once, and ends a friendship", async ({
      page,
      show,
      notice,
      dialog,
      press,
    }) => {
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

    it("denies a friend request", async ({ stage, show, notice, dialog, press, admin }) => {
      const id = await stage.askForFriendship("a stranger");
      await show("/inbox");
      await press("Deny the request of a stranger");
      await press("Deny", dialog(/Deny the request/));
      await notice("The request is denied.");
      expect((await admin("GrantService", "GetGrant", { id })).grant.state).toBe("GRANT_STATE_DENIED");
    });

    it("answers a task that asks", async ({ stage, page, show, dialog, press }) => {
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
    it("are retried where they are tasks", async ({ stage, show, notice, dialog, press, audited }) => {
      const id = await stage.send("Fail once more");
      await stage.until(id, "TASK_STATE_FAILED");
      await show("/dead-letters");
      await press("Retry Fail once more");
      await press("Retry", dialog(/Retry “Fail once more”/));
      await notice("It can be claimed from default again.");
      expect(await audited("RetryTodo")).toMatchObject([{ target: id }]);
    });

    it("are replayed and removed where they are pushes", async ({
      stage,
      page,
      show,
      notice,
      dialog,
      press,
    }) => {
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
    it("are vended, and their credential is shown this once and works", async ({
      stage,
      page,
      show,
      dialog,
      press,
    }) => {
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

    it("are vended with chosen verbs", async ({ show, dialog, press, admin }) => {
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

    it("are found, changed, revoked and deleted", async ({ page, show, notice, dialog, press, admin }) => {
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
});
