/** Who is signed in, how it ends, and what an operator is told when the gateway cannot be asked. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, missingBrowser, openPage, seriousFaults, signIn } from "./browser.ts";
import { type Stage, startStage } from "./stage.ts";

describe.skipIf(missingBrowser)("a session of the console", () => {
  let stage: Stage;
  let browser: Browser;
  let url: string;
  beforeAll(async () => {
    [stage, browser] = await Promise.all([startStage(), launch()]);
    url = String(stage.gateway.consoleUrl);
    await stage.askForFriendship("alice's helper");
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.stop();
  });

  it("begins with a credential that the gateway accepts, and with no other", async () => {
    const { page, faults } = await openPage(browser);
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.goto(`${url}/queues`);
    const field = page.getByLabel("Admin credential");
    const enter = page.getByRole("button", { name: "Sign in" });
    await enter.click();
    await page.getByText("Paste the credential first.").waitFor();
    await field.fill("two words");
    await enter.click();
    await page.getByText(/holds no spaces/).waitFor();
    for (const wrong of ["sba_wrong", await stage.gateway.vend()]) {
      await field.fill(wrong);
      await enter.click();
      await page.getByText(/does not accept this credential/).waitFor();
    }
    expect(await seriousFaults(page)).toEqual([]);
    await field.fill(`Bearer ${stage.gateway.adminToken}`);
    await enter.click();
    // Where the operator wanted to go.
    await page.getByRole("heading", { name: "Queues and workers" }).waitFor();
    expect(requests.filter((address) => address.includes(stage.gateway.adminToken))).toEqual([]);
    expect(page.url()).toBe(`${url}/queues`);
    expect(faults).toEqual([]);
  });

  it("lasts over a reload, belongs to one tab, and ends when it is ended", async () => {
    const { page, context } = await openPage(browser);
    await signIn(page, url, stage.gateway.adminToken);
    await page.reload();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const other = await context.newPage();
    await other.goto(url);
    await other.getByLabel("Admin credential").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You have signed out.").waitFor();
    await page.reload();
    await page.getByLabel("Admin credential").waitFor();
    expect(await page.evaluate("JSON.stringify([sessionStorage, localStorage])")).not.toContain("sba_");
    await context.close();
  });

  it("ends with an explanation when the gateway no longer accepts its credential", async () => {
    const { page, context } = await openPage(browser);
    await signIn(page, `${url}/tasks`, stage.gateway.adminToken);
    await page.evaluate("sessionStorage.setItem('baton.credential', 'sba_changed')");
    await page.reload();
    await page.getByText(/no longer accepts this credential/).waitFor();
    await page.getByLabel("Admin credential").fill(stage.gateway.adminToken);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Tasks" }).waitFor();
    await context.close();
  });

  it("SB-60 of a person shows what the person may see, and says what may not", async () => {
    const { page, context, faults } = await openPage(browser);
    await signIn(page, url, await stage.personToken());
    await page.getByText(/You are signed in as a person/).waitFor();
    await page.getByRole("link", { name: "Inbox" }).click();
    await page.getByText("No friend request waits.").waitFor();
    await page.getByRole("link", { name: "Tasks", exact: true }).click();
    await page
      .getByText(/as a person who may not do this|not permitted|not allowed/i)
      .first()
      .waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    expect(faults).toEqual([]);
    await context.close();
  });

  it("keeps what was read while the gateway is away, says so, and goes on", async () => {
    const { page, context } = await openPage(browser);
    await signIn(page, `${url}/queues`, stage.gateway.adminToken);
    await page.getByRole("link", { name: "default / reports" }).waitFor();
    await context.setOffline(true);
    await page
      .getByText(/cannot be reached. Shown is what was read at/)
      .first()
      .waitFor();
    await page.getByText("Not reached").waitFor();
    expect(await page.getByRole("link", { name: "default / reports" }).isVisible()).toBe(true);
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByRole("button", { name: "Try again" }).first().waitFor();
    await context.setOffline(false);
    await expect.poll(() => page.getByRole("alert").count(), { timeout: 15_000 }).toBe(0);
    await context.close();
  });

  it("asks for nothing while nobody looks", async () => {
    const { page, context } = await openPage(browser);
    await signIn(page, `${url}/queues`, stage.gateway.adminToken);
    await page.getByRole("link", { name: "default / reports" }).waitFor();
    let asked = 0;
    page.on("request", () => {
      asked += 1;
    });
    const setHidden = (hidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, "hidden", { configurable: true, get: () => ${hidden} });
        document.dispatchEvent(new Event("visibilitychange"));`,
      );
    await expect.poll(() => asked, { timeout: 5000 }).toBeGreaterThan(0);
    await setHidden(true);
    // What was under way ends.
    await page.waitForTimeout(500);
    asked = 0;
    await page.waitForTimeout(3000);
    expect(asked).toBe(0);
    await setHidden(false);
    await expect.poll(() => asked, { timeout: 1000 }).toBeGreaterThan(0);
    await context.close();
  });

  it("remembers whether it is light or dark", async () => {
    const { page, context } = await openPage(browser, { colorScheme: "light" });
    await signIn(page, url, stage.gateway.adminToken);
    const ground = () => page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
    const light = await ground();
    await page.getByRole("button", { name: "Theme: system" }).click();
    expect(await ground()).toBe(light);
    await page.getByRole("button", { name: "Theme: light" }).click();
    const dark = await ground();
    expect(dark).not.toBe(light);
    await page.reload();
    await page.getByRole("button", { name: "Theme: dark" }).waitFor();
    expect(await ground()).toBe(dark);
    await context.close();
  });
});
