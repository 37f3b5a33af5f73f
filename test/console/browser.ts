/** Debian's Chromium, driven by playwright-core, where the machine has it; elsewhere skipped, and said so. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from "playwright-core";

const CHROMIUM = "/usr/bin/chromium";

export const missingBrowser = ((): boolean => {
  if (existsSync(CHROMIUM)) return false;
  console.warn(
    `\n*** SKIPPED: the console in a browser: there is no ${CHROMIUM} here; npm run setup installs it on Debian ***\n`,
  );
  return true;
})();

/** Starts the browser, with the console as its sources are now. */
export function launch(): Promise<Browser> {
  execFileSync(process.execPath, [fileURLToPath(new URL("../../scripts/console.mjs", import.meta.url))]);
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

export const WIDE = { width: 1440, height: 900 } as const;
export const NARROW = { width: 360, height: 740 } as const;

/** A page, and what went wrong in it that nobody expected: exceptions, and what the content security policy refused. */
export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly faults: string[];
}

export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext({
    viewport: WIDE,
    reducedMotion: "reduce",
    locale: "en-GB",
    ...options,
  });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    if (/Content Security Policy|Trusted/.test(message.text())) faults.push(message.text());
  });
  return { page, context, faults };
}

/** Signs in as an operator does, at the address that was wanted. */
export async function signIn(page: Page, address: string, token: string): Promise<void> {
  await page.goto(address);
  await page.getByLabel("Admin credential").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
}

interface AxeFinding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe holds for serious or critical, one line each; `rules`: by these alone. Scripts of the debugger are not bound by the page's policy. */
export async function seriousFaults(page: Page, rules: readonly string[] = []): Promise<string[]> {
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(axeSource);
  const only = rules.length === 0 ? "" : `, runOnly: ${JSON.stringify(rules)}`;
  const { violations } = (await page.evaluate(
    `axe.run(document, { resultTypes: ["violations"]${only} })`,
  )) as {
    readonly violations: readonly AxeFinding[];
  };
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`));
}
