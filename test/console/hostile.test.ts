/** What strangers wrote is shown on every page and runs on none; and what the page asks of the gateway is bounded. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { data, file, link, Worker } from "../../src/worker/index.ts";
import { missingBrowser } from "./browser.ts";
import { type Hand, startHand } from "./hand.ts";

const MARKUP = `"><img src=x onerror="window.ran=1"><script>window.ran=2</script><svg/onload=window.ran=3>\u202e\u001b[2J`;
const PAGE = new TextEncoder().encode("<script>window.ran=5</script>");

describe.skipIf(missingBrowser)("in the console", () => {
  let hand: Hand;
  let worker: Worker;
  beforeAll(async () => {
    hand = await startHand();
    const { gateway } = hand.stage;
    worker = new Worker({
      url: gateway.url,
      credential: await gateway.vendWorker({ name: MARKUP.slice(0, 100), queues: ["reports"] }),
      claimant: MARKUP.slice(0, 100),
      stopGrace: 0,
      handler: async (todo) => {
        await todo.progress(MARKUP);
        await todo.artifact(
          [
            link("javascript:window.ran=4//", { filename: MARKUP }),
            link("data:text/html,<script>window.ran=4</script>", { mediaType: "text/html" }),
          ],
          { name: MARKUP },
        );
        await todo.artifact(file(PAGE, { filename: `../${MARKUP}.html`, mediaType: "text/html" }), {
          name: "__proto__",
        });
        await todo.artifact(data({ constructor: MARKUP, link: "javascript:window.ran=4" }), { name: "data" });
        await todo.requireInput(MARKUP);
        return undefined;
      },
    });
    worker.start();
  });
  afterAll(async () => {
    await worker?.stop();
    await hand?.stop();
  });

  it("no text, name, file or address of a stranger's runs, leads anywhere or breaks a page", async () => {
    const { page, stage, show } = hand;
    const id = await stage.send(MARKUP, { queue: "reports" });
    await stage.askForFriendship("javascript:window.ran=6", MARKUP);
    await stage.until(id, "TASK_STATE_INPUT_REQUIRED");
    let dialogs = 0;
    page.on("dialog", (opened) => {
      dialogs++;
      void opened.dismiss();
    });
    const task = `/agents/default/tasks/${id}`;
    const views = ["timeline", "messages", "artifacts", "attempts", "deliveries", "json"];
    const pages = ["", "/tasks", "/queues", "/inbox", "/endpoints", "/audit", "/pushes", "/dead-letters"];
    const odd = ["/%E0%A4%A", "/__proto__", "/endpoints/..%2f..", "/agents/__proto__/tasks/constructor"];
    const queries = [
      `/tasks?agent=__proto__&state=${encodeURIComponent(MARKUP)}`,
      "/audit?target=javascript:1",
    ];
    for (const path of [...pages, ...views.map((view) => `${task}?view=${view}`), ...odd, ...queries]) {
      await show(path);
      await page.locator("main h1").waitFor();
      await expect.poll(() => page.getByText("Loading").count()).toBe(0);
      expect(await page.evaluate("window.ran"), path).toBeUndefined();
      const elsewhere = await page.evaluate(
        `[...document.querySelectorAll("a[href], img, iframe, object, form[action]")]
          .filter((each) => !String(each.href).startsWith(location.origin + "/console")).length`,
      );
      expect(elsewhere, path).toBe(0);
    }
    await show(`${task}?view=artifacts`);
    const [saved] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save" }).click(),
    ]);
    expect(saved.suggestedFilename()).not.toMatch(/[/\\<>"]/);
    expect([dialogs, hand.faults]).toEqual([0, []]);
  });

  it("a task that has ended is not read over and over: it may be as large as a task may be", async () => {
    const { page, stage, show } = hand;
    const id = await stage.send("Say that this is the end");
    await stage.until(id, "TASK_STATE_COMPLETED");
    let reads = 0;
    page.on("request", (request) => {
      if (request.url().endsWith("TaskService/GetTask")) reads++;
    });
    await show(`/agents/default/tasks/${id}`);
    await page.getByText("completed", { exact: true }).first().waitFor();
    await page.waitForTimeout(7000);
    expect(reads).toBe(1);
  });
});
