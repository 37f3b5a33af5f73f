/** Completion scripts for shells, made from the program itself: names, options, choices. Nothing is asked at run time. */
import type { Command, Option } from "commander";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** One command, and what may be typed after it. */
interface Node {
  /** Words from the program's name to the command's, such as `task list`; empty for the program. */
  readonly path: string;
  readonly about: string;
  readonly children: readonly { readonly name: string; readonly about: string }[];
  readonly options: readonly Flag[];
  /** What its first argument may be. */
  readonly words: readonly string[];
}

interface Flag {
  readonly names: readonly string[];
  readonly about: string;
  readonly takesValue: boolean;
  readonly choices: readonly string[];
  /** Its value is a path. */
  readonly path: boolean;
}

export function completionScript(shell: Shell, program: Command): string {
  const nodes = nodesOf(program, "");
  return { bash, zsh, fish }[shell](nodes);
}

function nodesOf(command: Command, path: string): Node[] {
  const shown = command.createHelp().visibleCommands(command);
  const children = shown.map((child) => ({ name: child.name(), about: firstSentence(child.description()) }));
  const options = command.createHelp().visibleOptions(command).map(flagOf);
  const words = command.registeredArguments[0]?.argChoices ?? [];
  const own: Node = { path, about: firstSentence(command.description()), children, options, words };
  return [
    own,
    ...command.commands.flatMap((child) =>
      nodesOf(child, path === "" ? child.name() : `${path} ${child.name()}`),
    ),
  ];
}

function flagOf(option: Option): Flag {
  return {
    names: [option.short, option.long].filter((name) => name !== undefined && name !== null),
    about: firstSentence(option.description),
    takesValue: option.required || option.optional,
    choices: option.argChoices ?? [],
    path: /<(file|path|folder)>/.test(option.flags),
  };
}

function firstSentence(text: string): string {
  return /^.*?[.;](?=\s|$)/s.exec(text)?.[0].replace(/[.;]$/, "") ?? text;
}

const HEAD = (shell: Shell, how: string) =>
  `# Completion of baton for ${shell}, made by \`baton completion ${shell}\`. ${how}\n`;

/** Of an option, such as `task list --state`, the case label under which its values stand. */
function valueCases(nodes: readonly Node[], values: (flag: Flag) => string): string[] {
  return nodes.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map((flag) => {
        const labels = flag.names.map((name) => quote(`${path}|${name}`)).join("|");
        return `    ${labels}) ${values(flag)} ;;`;
      }),
  );
}

function bash(nodes: readonly Node[]): string {
  const values = valueCases(nodes, ({ choices, path }) => {
    if (choices.length > 0) return `COMPREPLY=($(compgen -W ${quote(choices.join(" "))} -- "$word")); return`;
    return path ? `compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$word")); return` : "return";
  });
  const words = nodes.map(({ path, children, options, words: more }) => {
    const names = [...children.map(({ name }) => name), ...more].join(" ");
    const flags = options.flatMap((option) => option.names).join(" ");
    return `    ${quote(path)}) children=${quote(names)}; flags=${quote(flags)} ;;`;
  });
  return `${HEAD("bash", "Add to ~/.bashrc: source <(baton completion bash)")}
_baton_children() {
  case $1 in
${nodes.map(({ path, children }) => `    ${quote(path)}) echo ${quote(children.map(({ name }) => name).join(" "))} ;;`).join("\n")}
  esac
}

_baton() {
  local word=\${COMP_WORDS[COMP_CWORD]} path="" skip="" i children="" flags="" known
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    known=" $(_baton_children "$path") "
    if [[ $known == *" \${COMP_WORDS[i]} "* ]]; then
      if [[ -z $path && \${COMP_WORDS[i]} == help ]]; then continue; fi
      path="\${path:+$path }\${COMP_WORDS[i]}"
    fi
  done
  case "$path|\${COMP_WORDS[COMP_CWORD - 1]}" in
${values.join("\n")}
  esac
  case $path in
${words.join("\n")}
  esac
  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$word"))
  elif [[ -n $children ]]; then COMPREPLY=($(compgen -W "$children" -- "$word"))
  else compopt -o default 2>/dev/null
  fi
}

complete -F _baton baton
`;
}

function zsh(nodes: readonly Node[]): string {
  const values = valueCases(nodes, ({ choices, path }) => {
    if (choices.length > 0) return `compadd -- ${choices.map(quote).join(" ")}; return`;
    return path ? "_files; return" : "_message value; return";
  });
  const describe = ({ path, children, options, words }: Node) => {
    const commands = [
      ...children.map(({ name, about }) => quote(`${colons(name)}:${about}`)),
      ...words.map(quote),
    ].join(" ");
    const flags = options
      .flatMap(({ names, about }) => names.map((name) => quote(`${colons(name)}:${about}`)))
      .join(" ");
    return `    ${quote(path)}) children=(${commands}); flags=(${flags}) ;;`;
  };
  return `#compdef baton
${HEAD("zsh", "Write it to a file called _baton in a folder of $fpath, or: source <(baton completion zsh)")}
_baton_children() {
  case $1 in
${nodes.map(({ path, children }) => `    ${quote(path)}) echo ${quote(children.map(({ name }) => name).join(" "))} ;;`).join("\n")}
  esac
}

_baton() {
  local where="" i known
  local -a children flags
  for ((i = 2; i < CURRENT; i++)); do
    known=" $(_baton_children "$where") "
    if [[ $known == *" \${words[i]} "* ]]; then
      if [[ -z $where && \${words[i]} == help ]]; then continue; fi
      where="\${where:+$where }\${words[i]}"
    fi
  done
  case "$where|\${words[CURRENT - 1]}" in
${values.join("\n")}
  esac
  case $where in
${nodes.map(describe).join("\n")}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then _describe -o option flags
  elif (( \${#children} )); then _describe command children
  else _files
  fi
}

# As a file of $fpath this is the body of the function at its first call.
if [[ \${funcstack[1]} == _baton ]]; then _baton "$@"; else compdef _baton baton; fi
`;
}

function fish(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, children, options, words }) => {
    const when = `-n ${quote(`__baton_at ${quote(path)}`)}`;
    return [
      ...words.map((word) => `complete -c baton ${when} -f -a ${quote(word)}`),
      ...(children.length > 0 ? [`complete -c baton ${when} -f`] : []),
      ...children.map(({ name, about }) => `complete -c baton ${when} -a ${quote(name)} -d ${quote(about)}`),
      ...options.map(({ names, about, takesValue, choices, path: isPath }) => {
        const spelt = names.map((name) =>
          name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
        );
        const value = takesValue ? (isPath ? " -r -F" : " -x") : "";
        const among = choices.length > 0 ? ` -a ${quote(choices.join(" "))}` : "";
        return `complete -c baton ${when} ${spelt.join(" ")}${value}${among} -d ${quote(about)}`;
      }),
    ];
  });
  return `${HEAD("fish", "Write it to ~/.config/fish/completions/baton.fish")}
function __baton_children
  switch "$argv[1]"
${nodes
  .filter(({ children }) => children.length > 0)
  .map(
    ({ path, children }) =>
      `    case ${quote(path)}\n      string split ' ' ${quote(children.map(({ name }) => name).join(" "))}`,
  )
  .join("\n")}
  end
end

function __baton_at
  set -l words (commandline -opc)
  set -l path ''
  for word in $words[2..-1]
    if contains -- $word (__baton_children "$path")
      if test -z "$path" -a "$word" = help
        continue
      end
      set path (string trim "$path $word")
    end
  end
  test "$path" = "$argv[1]"
end

${lines.join("\n")}
`;
}

/** For a shell, in single quotes; commands and texts of ours hold no line ends. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function colons(text: string): string {
  return text.replaceAll(":", "\\:");
}
