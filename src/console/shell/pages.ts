/** The pages, by their paths below /console. */
import type { ComponentType } from "preact";
import { AuditPage } from "../pages/audit.tsx";
import { DeadLettersPage } from "../pages/dead-letters.tsx";
import { EndpointPage } from "../pages/endpoint.tsx";
import { EndpointsPage } from "../pages/endpoints.tsx";
import { InboxPage } from "../pages/inbox.tsx";
import { NowherePage } from "../pages/nowhere.tsx";
import { OverviewPage } from "../pages/overview.tsx";
import { PushesPage } from "../pages/pushes.tsx";
import { QueuesPage } from "../pages/queues.tsx";
import { TaskPage } from "../pages/task.tsx";
import { TasksPage } from "../pages/tasks.tsx";

export interface PageProps {
  /** What stands in the variable parts of the path, in order. */
  readonly names: readonly string[];
}

export interface PageEntry {
  /** Of the tab, and of the link in the navigation. */
  readonly title: string;
  /** `*` stands for any one part. */
  readonly path: readonly string[];
  readonly page: ComponentType<PageProps>;
  /** Second key of `g …` that leads here; absent: not in the navigation. */
  readonly key?: string;
}

export const PAGES: readonly PageEntry[] = [
  { title: "Overview", path: [], page: OverviewPage, key: "o" },
  { title: "Tasks", path: ["tasks"], page: TasksPage, key: "t" },
  { title: "Inbox", path: ["inbox"], page: InboxPage, key: "i" },
  { title: "Queues", path: ["queues"], page: QueuesPage, key: "q" },
  { title: "Pushes", path: ["pushes"], page: PushesPage, key: "p" },
  { title: "Dead letters", path: ["dead-letters"], page: DeadLettersPage, key: "d" },
  { title: "Endpoints", path: ["endpoints"], page: EndpointsPage, key: "e" },
  { title: "Audit", path: ["audit"], page: AuditPage, key: "a" },
  { title: "Task", path: ["agents", "*", "tasks", "*"], page: TaskPage },
  { title: "Endpoint", path: ["endpoints", "*"], page: EndpointPage },
];

const NOWHERE: PageEntry = { title: "No such page", path: [], page: NowherePage };

export function pageAt(parts: readonly string[]): {
  readonly entry: PageEntry;
  readonly names: readonly string[];
} {
  const entry = PAGES.find(
    ({ path }) =>
      path.length === parts.length && path.every((part, index) => part === "*" || part === parts[index]),
  );
  if (entry === undefined) return { entry: NOWHERE, names: parts };
  return { entry, names: parts.filter((_, index) => entry.path[index] === "*") };
}
