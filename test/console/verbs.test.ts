import { expect, it } from "vitest";
import * as console from "../../src/console/pages/endpoint/verbs.ts";
import * as gateway from "../../src/domain/caller.ts";

// The console knows the gateway by its generated services alone, in which verbs are texts.
it("the console offers the verbs that the gateway knows", () => {
  expect(console.SUBMIT_VERBS).toEqual(gateway.SUBMIT_VERBS);
  expect(console.WORK_VERBS).toEqual(gateway.WORK_VERBS);
});
