/** Making and reading listings, for the scenarios about them. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Peer } from "../actors.ts";
import type { ScenarioOptions } from "../scenario.ts";

export const needs: ScenarioOptions = { needs: ["list"] };

/** Starts tasks one after the other; their ids, oldest first. */
export async function several(peer: Peer, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    ids.push((await peer.start(`task ${index}`)).id);
    // Status times have milliseconds; two tasks of the same one are listed by id, not in the order of their making.
    await sleep(3);
  }
  return ids;
}

/** All pages; calls `between` after each. */
export async function pages(
  peer: Peer,
  request: { pageSize: number; status?: string; contextId?: string },
  between: (page: number) => Promise<void> = async () => {},
): Promise<Task[][]> {
  const found: Task[][] = [];
  let pageToken = "";
  do {
    const page = await peer.list({ ...request, pageToken });
    found.push(page.tasks);
    pageToken = page.nextPageToken;
    await between(found.length);
    if (found.length > 50) throw new Error("the listing does not end");
  } while (pageToken !== "");
  return found;
}
