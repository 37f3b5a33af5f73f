/**
 * Examples for the help of each command, by its path: a command line, and what it is for. A test parses every one, and
 * misses those of a command that has none.
 */
export const EXAMPLES: Readonly<Record<string, readonly (readonly [line: string, what: string])[]>> = {
  serve: [
    ["baton serve", "with a Redis of its own, for this machine"],
    ["baton serve --config baton.yaml --host 0.0.0.0", "for others too"],
  ],
  demo: [["baton demo", "see every binding at work"]],
  doctor: [
    ["baton doctor", "before the first start, and when something is odd"],
    ["baton doctor --config baton.yaml --output json", "for a pipeline"],
  ],
  send: [
    ['baton send "Summarize the report" --file notes.txt', "wait a while for the result"],
    ['baton send --stream "Translate this"', "see what happens"],
    ['baton send --task td_1 "Ada"', "answer a question"],
  ],
  "task get": [["baton task get td_1 --output json", "as the protocol has it"]],
  "task list": [["baton task list --state input-required --limit 10", "what waits for an answer"]],
  "task watch": [["baton task watch td_1", "until it ends; Ctrl-C leaves it alone"]],
  "task cancel": [['baton task cancel td_1 --reason "no more need"', "with a word for the record"]],
  "task search": [
    ["baton task search --state input-required --state auth-required", "everything that waits for a person"],
    ["baton task search --endpoint ep_1 --since 2h --queue default", "what a client sent lately"],
  ],
  "task inspect": [["baton task inspect td_1", "who holds it, and what it waits for"]],
  "task timeline": [["baton task timeline td_1 --agent default", "from the message to the last push"]],
  "task answer": [
    ['baton task answer td_1 "The red one"', "in place of its client"],
    ["baton task answer run_1 approved --agent flows --action accept", "an approval of a host"],
  ],
  "queue list": [["baton queue list --agent default", "how long work waits"]],
  stats: [["baton stats", "replicas, tasks, pushes, Redis"]],
  "audit list": [["baton audit list --action Revoke --since 30d", "who revoked what"]],
  "worker list": [["baton worker list --queue default", "who is there, and what each holds"]],
  worker: [
    ["baton worker --echo", "a first trial"],
    ['baton worker --exec "./do-work.sh" --concurrency 4 --lease 2m', "a shell command for each todo"],
  ],
  "endpoint create": [
    ["baton endpoint create --name ada --submit --push", "for a client"],
    ["baton endpoint create --name builder --work --queue builds --expires-in 30d", "for a worker"],
  ],
  "endpoint list": [["baton endpoint list --all", "revoked ones, too"]],
  "endpoint get": [["baton endpoint get ep_1", "what it may do"]],
  "endpoint revoke": [["baton endpoint revoke ep_1", "at once"]],
  "endpoint delete": [["baton endpoint delete ep_1", "after it was revoked"]],
  "grant list": [["baton grant list --agent default", "who asks"]],
  "grant show": [["baton grant show gr_1", "for what, and why"]],
  "grant approve": [
    ["baton grant approve gr_1 --queue default --verb create_for", "for less than was asked"],
  ],
  "grant deny": [["baton grant deny gr_1", "without a reason to the requester"]],
  "grant delete": [["baton grant delete gr_1", "a request that is over"]],
  "grant revoke": [["baton grant revoke gr_1", "with its credential"]],
  "grant reissue": [["baton grant reissue gr_1", "when the credential was lost"]],
  "card sign": [["baton card sign card.json --key card.pem --kid 2026", "with a key file"]],
  "card verify": [
    [
      "baton card verify https://agents.example/.well-known/agent-card.json --jku-host agents.example",
      "of another agent",
    ],
  ],
  "card keys": [["baton card keys --key card.pem --kid 2026", "to publish"]],
  "todo dead": [["baton todo dead --queue default", "what nobody could do"]],
  "todo retry": [["baton todo retry td_1", "once the cause is gone"]],
  "push status": [["baton push status", "how much waits"]],
  "push list": [["baton push list --since 2h", "given up in the last two hours"]],
  "push inspect": [["baton push inspect dl_1", "why it was given up"]],
  "push replay": [["baton push replay --since 2h", "once the receiver is back"]],
  "push purge": [["baton push purge dl_1", "what nobody needs"]],
  "push receiver": [["baton push receiver --port 8443 --token shared", "to try pushes out"]],
  "config check": [["baton config check --config baton.yaml", "before it is used"]],
  "config schema": [["baton config schema", "for an editor"]],
  "config show": [["baton config show --output json", "with every default"]],
  completion: [
    ["baton completion bash", "to be sourced, or written where the shell looks"],
    ["baton completion zsh", "the same for zsh"],
  ],
  help: [["baton help task list", "of a command inside another"]],
};
