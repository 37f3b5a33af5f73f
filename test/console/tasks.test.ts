/** What is done to tasks in the console, in a browser, and what comes of it at the gateway. */
import type { Response } from "playwright-core";
import { describe, expect } from "vitest";
import { missingBrowser } from "./browser.ts";
import { it, type Json } from "./hand.ts";

describe.skipIf(missingBrowser)("in the console", () => {
  describe("tasks", () => {
    it("are filtered by state and id, in the address, and turned page by page", async ({
      stage,
      page,
      show,
      press,
    }) => {
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

    it("appear without a reload", async ({ stage, page, show }) => {
      await show("/tasks");
      await page.getByRole("table").waitFor();
      await stage.send("Say that it is new", { queue: "reports" });
      await page.getByText("Say that it is new").waitFor();
    });

    it("are canceled, for a reason that the audit keeps", async ({
      stage,
      page,
      show,
      notice,
      dialog,
      press,
      audited,
    }) => {
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

    it("are left as they are when the question is not confirmed", async ({
      stage,
      page,
      show,
      dialog,
      press,
    }) => {
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

    it("are retried, and say so in their timeline", async ({ stage, page, show, notice, dialog, press }) => {
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

    it("are answered, and what follows is seen live", async ({
      stage,
      page,
      show,
      notice,
      dialog,
      press,
    }) => {
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

    it("are read whole only when they have changed, however long they are looked at", async ({
      stage,
      page,
      show,
      admin,
    }) => {
      const long = "x".repeat(100_000);
      const id = await stage.send(`Hold ${long}`);
      await stage.until(id, "TASK_STATE_WORKING");
      const sizes: number[] = [];
      const onResponse = async (response: Response) => {
        if (response.url().endsWith("TaskService/GetTask")) sizes.push((await response.body()).length);
      };
      page.on("response", onResponse);
      await show(`/agents/default/tasks/${id}?view=messages`);
      await expect.poll(() => sizes.length, { timeout: 15_000 }).toBeGreaterThan(3);
      expect(sizes.map((size) => size > long.length)).toEqual(sizes.map((_, index) => index === 0));
      expect(await page.locator(".message").first().textContent()).toContain(long);
      await admin("TaskService", "CancelTask", { id });
      await page.getByText("canceled", { exact: true }).first().waitFor();
      await expect.poll(() => sizes.at(-1)).toBeGreaterThan(long.length);
      page.off("response", onResponse);
    });

    it("name their ids to be copied, and their files to be saved", async ({
      stage,
      page,
      show,
      notice,
      press,
    }) => {
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

  describe("queues", () => {
    it("lead to their tasks, and workers to what they hold", async ({ stage, page, show }) => {
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

  describe("what operators did", () => {
    it("is found by action, by target and by who did it", async ({ stage, page, show, admin }) => {
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
});
