import type { Check } from "../check.ts";
import { fault, ok } from "../finding.ts";

export const configuration: Check = {
  name: "configuration",
  about: "The file can be read, and every key in it and in the environment is known and in its range.",
  needs: [],
  run({ read }) {
    const { file, problems, config } = read;
    if (config !== undefined) {
      const where = file ?? "no file; environment and defaults";
      return [ok(`${where}: good, agents ${Object.keys(config.agents).join(", ")}`)];
    }
    const where = file === undefined ? "" : `${file}: `;
    return problems.map((problem) =>
      fault(`${where}${problem}`, "`baton config schema` prints what is allowed."),
    );
  },
};
