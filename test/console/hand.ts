/** What a test does in the console and asks the gateway: one browser, signed in, before one stage. */
import type { Locator, Page } from "playwright-core";
import { launch, openPage, signIn } from "./browser.ts";
import { type Stage, startStage } from "./stage.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
export type Json = any;

export interface Hand {
  readonly stage: Stage;
  readonly page: Page;
  /** What went wrong in the page that nobody expected. */
  readonly faults: readonly string[];
  /** Goes to a path below /console. */
  show(path: string): Promise<unknown>;
  /** Waits for a notice that holds the text. */
  notice(text: string | RegExp): Promise<void>;
  dialog(name: string | RegExp): Locator;
  press(name: string | RegExp, within?: Locator): Promise<void>;
  /** Calls an admin service as a client of it does. */
  admin(service: string, method: string, body: object): Promise<Json>;
  stop(): Promise<void>;
}

export async function startHand(): Promise<Hand> {
  const [stage, browser] = await Promise.all([startStage(), launch()]);
  const { page, context, faults } = await openPage(browser);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const url = String(stage.gateway.consoleUrl);
  await signIn(page, url, stage.gateway.adminToken);
  return {
    stage,
    page,
    faults,
    show: (path) => page.goto(url + path),
    notice: (text) => page.locator(".notice").filter({ hasText: text }).waitFor(),
    dialog: (name) => page.getByRole("dialog", { name }),
    press: (name, within) =>
      (within ?? page).getByRole("button", { name, exact: typeof name === "string" }).click(),
    admin: async (service, method, body) => (await stage.gateway.admin(method, body, service)).json(),
    async stop() {
      await browser.close();
      await stage.stop();
    },
  };
}
