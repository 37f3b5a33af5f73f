/** Every page of the console in a browser: what it shows, that axe finds no serious fault, and what it weighs. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  launch,
  missingBrowser,
  NARROW,
  openPage,
  seriousFaults,
  signIn,
  type WatchedPage,
  WIDE,
} from "./browser.ts";
import { type Stage, startStage } from "./stage.ts";

/** Most of what a first visit may load, in bytes as they go over the wire. */
const FIRST_LOAD = 200_000;

describe.skipIf(missingBrowser)("the pages of the console", () => {
  let stage: Stage;
  let browser: Browser;
  let console: string;
  let watched: WatchedPage;
  const ids = { report: "", asked: "", failed: "", endpoint: "" };

  beforeAll(async () => {
    [stage, browser] = await Promise.all([startStage(), launch()]);
    console = String(stage.gateway.consoleUrl);
    ids.report = await stage.send("Report on the third quarter", { push: true });
    ids.asked = await stage.send("Ask about the door");
    ids.failed = await stage.send("Fail to print <img src=x onerror=alert(1)> the paper", { refused: true });
    await stage.send("Print page one", { queue: "reports" });
    await stage.askForFriendship("alice's helper", "to hand over <b>reports</b>");
    await stage.until(ids.report, "TASK_STATE_COMPLETED");
    await stage.until(ids.asked, "TASK_STATE_INPUT_REQUIRED");
    await stage.until(ids.failed, "TASK_STATE_FAILED");
    const listed = await stage.gateway.admin("ListEndpoints", {}, "EndpointService");
    const { endpoints } = (await listed.json()) as { endpoints: { id: string; name: string }[] };
    ids.endpoint = String(endpoints.find(({ name }) => name === "newsroom")?.id);
    await stage.untilDead(3);
    watched = await openPage(browser);
    await signIn(watched.page, console, stage.gateway.adminToken);
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.stop();
  });

  // Functions of the ids, which are not known yet.
  const task =
    (id: keyof typeof ids, view = "") =>
    () =>
      `/agents/default/tasks/${ids[id]}${view}`;
  const PAGES: readonly [name: string, path: () => string, shows: readonly (string | RegExp)[]][] = [
    [
      "overview",
      () => "",
      [
        /1 task waits in default \/ reports, and no worker is there/,
        "1 task waits for an answer.",
        "1 friend request waits for a decision.",
        "1 task has failed for good.",
        /pushes were given up/,
        "ready",
        "noeviction",
      ],
    ],
    ["tasks", () => "/tasks", ["Report on the third quarter", "completed", "the paper ran out", "press-1"]],
    [
      "friend requests",
      () => "/inbox",
      ["alice's helper", "to hand over <b>reports</b>", /attested by https:/],
    ],
    [
      "tasks that ask",
      () => "/inbox?kind=tasks",
      ["Ask about the door", "Which colour should the door have?"],
    ],
    [
      "queues",
      () => "/queues",
      ["default / reports", "nobody works here", "press-1", "waits for its client"],
    ],
    ["pushes", () => "/pushes", ["delivered", "refused for now, HTTP 500", /egress: https allowed/]],
    ["failed tasks", () => "/dead-letters", ["Fail to print <img", "the paper ran out"]],
    ["dead pushes", () => "/dead-letters?kind=pushes", ["refused for now, HTTP 500"]],
    ["endpoints", () => "/endpoints", ["newsroom", "send, stream, push in default, reports", "press"]],
    ["an endpoint", () => `/endpoints/${ids.endpoint}`, ["newsroom", "create_for", "the server's"]],
    ["a new endpoint", () => "/endpoints?new=yes", ["Vend an endpoint", "Register push notifications"]],
    ["audit", () => "/audit", ["CreateEndpoint", "operator", "done"]],
    [
      "timeline",
      task("report"),
      ["sent by newsroom", /attempt 1: delivered/, "completed by press", "pending → claimed"],
    ],
    ["messages", task("report", "?view=messages"), ["Report on the third quarter", "Reading the figures."]],
    [
      "artifacts",
      task("report", "?view=artifacts"),
      ["figures", '"total": 42', /q3\.csv, text\/csv, 8 bytes/],
    ],
    ["attempts", task("failed", "?view=attempts"), ["press-1", "dead_lettered"]],
    ["deliveries", task("failed", "?view=deliveries"), ["Given up", "refused for now, HTTP 500"]],
    ["JSON", task("report", "?view=json"), ['"state": "TASK_STATE_COMPLETED"']],
    ["a task that asks", task("asked"), ["It waits for an answer", "Fails, unanswered"]],
    ["no task", () => "/agents/default/tasks/td_none", ["Task not found."]],
    ["no page", () => "/nowhere", ["No such page"]],
  ];

  it.each(PAGES)(
    "%s: shows what there is, to everyone, in light, dark and narrow",
    async (_name, path, shows) => {
      const { page, faults } = watched;
      await page.setViewportSize(WIDE);
      await page.emulateMedia({ colorScheme: "light" });
      await page.goto(console + path());
      for (const text of shows) await page.getByText(text).filter({ visible: true }).first().waitFor();
      expect(await page.locator("main h1").count()).toBe(1);
      expect(await seriousFaults(page)).toEqual([]);
      // Only colours differ in the dark.
      await page.emulateMedia({ colorScheme: "dark" });
      expect(await seriousFaults(page, ["color-contrast"])).toEqual([]);
      await page.setViewportSize(NARROW);
      expect(await seriousFaults(page)).toEqual([]);
      // Nothing but what scrolls by itself is wider than the narrowest screen.
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(NARROW.width);
      expect(faults).toEqual([]);
    },
  );

  it("what others wrote is text, never a part of the page", async () => {
    const { page } = watched;
    await page.goto(console + task("failed")());
    await page.getByRole("heading", { name: "Fail to print <img src=x" }).waitFor();
    await page.goto(`${console}/inbox`);
    await page.getByText("to hand over <b>reports</b>").waitFor();
    expect(await page.locator("main img, main b").count()).toBe(0);
  });

  it("the check for faults finds one that is planted", async () => {
    const { page } = watched;
    await page.goto(`${console}/tasks`);
    await page.getByRole("table").waitFor();
    await page.evaluate("document.querySelector('main').append(document.createElement('select'))");
    expect(await seriousFaults(page)).toEqual([expect.stringMatching(/^select-name: <select>/)]);
  });

  it("a first visit loads less than 200 KB", async () => {
    const { page, context } = await openPage(browser);
    const session = await context.newCDPSession(page);
    await session.send("Network.enable");
    const loaded: number[] = [];
    session.on("Network.loadingFinished", ({ encodedDataLength }) => loaded.push(encodedDataLength));
    await signIn(page, console, stage.gateway.adminToken);
    await page.getByText("1 task waits for an answer.").waitFor();
    const sum = loaded.reduce((total, bytes) => total + bytes, 0);
    expect(loaded.length).toBeGreaterThanOrEqual(5);
    expect(sum).toBeLessThan(FIRST_LOAD);
    process.stdout.write(`first load of the console: ${loaded.length} answers, ${sum} bytes\n`);
    await context.close();
  });
});

describe.skipIf(missingBrowser)("an empty gateway", () => {
  let stage: Stage;
  let browser: Browser;
  beforeAll(async () => {
    [stage, browser] = await Promise.all([startStage(), launch()]);
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.stop();
  });

  it("says on each page what would fill it", async () => {
    const { page } = await openPage(browser);
    const url = String(stage.gateway.consoleUrl);
    await signIn(page, url, stage.gateway.adminToken);
    await page.getByText("Nothing needs you right now.").waitFor();
    for (const [path, text] of [
      ["/tasks", 'baton send "Hello"'],
      ["/inbox", "No friend request waits."],
      ["/inbox?kind=tasks", "No task waits for an answer."],
      ["/pushes", "Nothing was pushed yet."],
      ["/dead-letters", "No task has failed for good."],
      ["/dead-letters?kind=pushes", "No push was given up."],
    ] as const) {
      await page.goto(url + path);
      await page.getByText(text).waitFor();
      expect(await seriousFaults(page)).toEqual([]);
    }
  });
});
