import { setTimeout as sleep } from "node:timers/promises";
import { type TodoContext, textOf } from "../../worker/index.ts";

/** What the demo's worker does, by the first word that it is told. */
export async function demoHandler(todo: TodoContext): Promise<string | undefined> {
  switch (todo.text.split(" ")[0]) {
    case "Count": {
      await todo.progress("Counting.");
      for (const [index, word] of ["one", " two", " three"].entries()) {
        await todo.appendArtifact("numbers", word, { last: index === 2 });
      }
      return undefined;
    }
    case "Paint": {
      const colour = textOf(await todo.requireInput("Which colour?"));
      return `The door is ${colour} now.`;
    }
    case "Wait":
      await todo.progress("Waiting.");
      await sleep(60_000, undefined, { signal: todo.signal });
      return "Nobody stopped me.";
    default:
      return `You said: ${todo.text}`;
  }
}
