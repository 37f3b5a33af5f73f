/** What a test does in the console and asks the gateway: one browser, signed in, before one stage. */
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
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
  /** What the audit tells of an action, newest first. */
  audited(action: string): Promise<Json[]>;
  stop(): Promise<void>;
}

export async function startHand(): Promise<Hand> {
  const [stage, browser] = await Promise.all([startStage(), launch()]);
  const { page, context, faults } = await openPage(browser);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const url = String(stage.gateway.consoleUrl);
  const admin: Hand["admin"] = async (service, method, body) =>
    (await stage.gateway.admin(method, body, service)).json();
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
    admin,
    audited: async (action) => (await admin("AuditService", "ListAuditEntries", { action })).entries ?? [],
    async stop() {
      await browser.close();
      await stage.stop();
    },
  };
}

/** A test in the console: those of one file share a hand. One in whose pages something goes wrong that nobody expects fails. */
export const it = test
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs
  .extend("hand", { scope: "file" }, async ({}, { onCleanup }) => {
    const hand = await startHand();
    onCleanup(() => hand.stop());
    return hand;
  })
  .extend("stage", { scope: "file" }, ({ hand }) => hand.stage)
  .extend("page", { scope: "file" }, ({ hand }) => hand.page)
  .extend("show", { scope: "file" }, ({ hand }) => hand.show)
  .extend("notice", { scope: "file" }, ({ hand }) => hand.notice)
  .extend("dialog", { scope: "file" }, ({ hand }) => hand.dialog)
  .extend("press", { scope: "file" }, ({ hand }) => hand.press)
  .extend("admin", { scope: "file" }, ({ hand }) => hand.admin)
  .extend("audited", { scope: "file" }, ({ hand }) => hand.audited)
  .extend("unbroken", { auto: true }, ({ hand }, { onCleanup }) => {
    onCleanup(() => expect(hand.faults).toEqual([]));
  });
