/** An operator without a mouse, from the sign-in to the answer to a task. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, missingBrowser, openPage } from "./browser.ts";
import { type Stage, startStage } from "./stage.ts";

describe.skipIf(missingBrowser)("with the keyboard alone", () => {
  let stage: Stage;
  let browser: Browser;
  let page: Page;
  let asked: string;
  beforeAll(async () => {
    [stage, browser] = await Promise.all([startStage(), launch()]);
    asked = await stage.send("Ask about the roof");
    await stage.until(asked, "TASK_STATE_INPUT_REQUIRED");
    await stage.until(await stage.send("Say one"), "TASK_STATE_COMPLETED");
    await stage.until(await stage.send("Say two"), "TASK_STATE_COMPLETED");
    ({ page } = await openPage(browser));
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.stop();
  });

  const keys = async (...names: readonly string[]) => {
    for (const name of names) await page.keyboard.press(name);
  };
  /** What has the focus: its label, or its text. */
  const focused = async () =>
    String(
      await page.evaluate(
        "document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.labels?.[0]?.textContent ?? document.activeElement?.textContent",
      ),
    );
  const tabTo = async (name: string) => {
    for (let steps = 0; steps < 40; steps += 1) {
      if ((await focused()) === name) return;
      await keys("Tab");
    }
    throw new Error(`Tab never came to ${name}`);
  };

  it("one signs in", async () => {
    await page.goto(String(stage.gateway.consoleUrl));
    await expect.poll(focused).toBe("Admin credential");
    await page.keyboard.insertText(stage.gateway.adminToken);
    await keys("Enter");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    // The first stop of Tab leads past the navigation.
    await keys("Tab");
    expect(await focused()).toBe("Skip to the content");
    await keys("Enter");
    expect(await page.evaluate("document.activeElement?.id")).toBe("main");
  });

  it("one goes to a page, whose heading takes the focus", async () => {
    await keys("g", "t");
    await page.getByRole("heading", { name: "Tasks" }).waitFor();
    await expect.poll(focused).toBe("Tasks");
    expect(await page.title()).toBe("Tasks · Baton console");
  });

  it("one filters, and moves through the rows", async () => {
    await page.getByRole("link", { name: "Say two" }).waitFor();
    await keys("/");
    expect(await focused()).toBe("Id starts with");
    // In a field the keys are letters.
    await keys("j");
    await expect.poll(() => page.getByText("No task matches these filters.").count()).toBe(1);
    await keys("Backspace", "Escape");
    await page.getByRole("link", { name: "Say two" }).waitFor();
    await keys("j");
    expect(await focused()).toBe("Say two");
    await keys("j", "j");
    expect(await focused()).toBe("Ask about the roof");
    await keys("k");
    expect(await focused()).toBe("Say one");
    await keys("j", "Enter");
    await page.getByRole("heading", { name: "Ask about the roof" }).waitFor();
    await expect.poll(() => new URL(page.url()).pathname).toBe(`/console/agents/default/tasks/${asked}`);
  });

  it("one is told of the keys, and comes back to where one was", async () => {
    await page.getByRole("button", { name: "Reply" }).waitFor();
    await tabTo("Cancel task");
    await keys("?");
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
    // Behind a dialog the keys do nothing.
    await keys("g", "o");
    expect(await page.getByRole("dialog", { name: "Keyboard" }).isVisible()).toBe(true);
    await keys("Escape");
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
    expect(await focused()).toBe("Cancel task");
  });

  it("one answers a task, inside a dialog that keeps the focus", async () => {
    await keys("Shift+Tab");
    expect(await focused()).toBe("Reply");
    await keys("Enter");
    await page.getByRole("dialog").waitFor();
    await expect.poll(focused).toBe("Message");
    await page.keyboard.type("slate");
    await tabTo("Leave it");
    await tabTo("Send the reply");
    for (let steps = 0; steps < 6; steps += 1) {
      await keys("Tab");
      const inside =
        "document.activeElement === document.body || document.querySelector('dialog').contains(document.activeElement)";
      expect(await page.evaluate(inside)).toBe(true);
    }
    await tabTo("Send the reply");
    await keys("Enter");
    await expect
      .poll(() => page.getByRole("status").allInnerTexts())
      .toContainEqual(expect.stringContaining("The reply was sent."));
    await stage.until(asked, "TASK_STATE_COMPLETED");
    // Its change of state is read out.
    await page.locator("[aria-live] >> text=completed").waitFor();
  });

  it("one goes back, and is taken to the heading there too", async () => {
    await page.goBack();
    await page.getByRole("heading", { name: "Tasks" }).waitFor();
    await expect.poll(focused).toBe("Tasks");
  });
});
