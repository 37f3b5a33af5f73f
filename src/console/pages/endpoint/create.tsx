import { useState } from "preact/hooks";
import { endpoints, queues } from "../../api/clients.ts";
import { fieldFault } from "../../api/failure.ts";
import { useLive } from "../../api/live.ts";
import { Check, CheckGroup } from "../../parts/check-group.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { ExpiryField, expiryOf } from "../../parts/expiry-field.tsx";
import { FailureNote } from "../../parts/failure-note.tsx";
import { Field } from "../../parts/field.tsx";
import { FormButtons } from "../../parts/form-buttons.tsx";
import { notify } from "../../parts/notices.tsx";
import { Select } from "../../parts/select.tsx";
import { useAction } from "../../parts/use-action.ts";
import { SUBMIT_VERBS, WORK_VERBS } from "./verbs.ts";

const PURPOSES = [
  { value: "submit", text: "send work", verbs: SUBMIT_VERBS },
  { value: "work", text: "do work", verbs: WORK_VERBS },
  { value: "chosen", text: "chosen verbs", verbs: [] },
] as const;

/** Vends an endpoint. What it may do is fixed from then on. */
export function CreateEndpoint(props: {
  readonly agents: readonly string[];
  onClose(): void;
  onCreated(name: string, credential: string): void;
}) {
  const { agents, onClose, onCreated } = props;
  const [name, setName] = useState("");
  const [chosenAgent, setAgent] = useState<string>();
  // The agents may come in while the form is open.
  const agent = chosenAgent ?? agents[0] ?? "";
  const [owner, setOwner] = useState("");
  const [purpose, setPurpose] = useState<string>("submit");
  const [verbs, setVerbs] = useState<ReadonlySet<string>>(new Set(SUBMIT_VERBS));
  const [chosenQueues, setQueues] = useState<ReadonlySet<string>>();
  const [typedQueues, setTypedQueues] = useState("default");
  const [streaming, setStreaming] = useState(true);
  const [push, setPush] = useState(false);
  const [expires, setExpires] = useState("");
  const known = useLive(`queues of ${agent}`, (signal) => queues.listQueues({ agent }, { signal }), 0);
  const offered = known.data?.queues.map((queue) => queue.name) ?? [];
  const listed = chosenQueues ?? new Set(offered.slice(0, 1));
  const { busy, failure, start } = useAction(async () => {
    const { credential, endpoint } = await endpoints.createEndpoint({
      name: name.trim(),
      agent,
      owner: owner.trim(),
      scope: {
        // A run host's agent has no queues that could be listed, and takes the name all the same.
        queues:
          offered.length > 0
            ? [...listed]
            : typedQueues
                .split(",")
                .map((queue) => queue.trim())
                .filter(Boolean),
        verbs: [...(PURPOSES.find(({ value }) => value === purpose && value !== "chosen")?.verbs ?? verbs)],
        streaming,
        push,
      },
      ...expiryOf(expires),
    });
    notify(`“${endpoint?.name ?? name}” was vended.`);
    onCreated(endpoint?.name ?? name, credential);
  });
  return (
    <Dialog title="Vend an endpoint" wide onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          start();
        }}
      >
        <div class="form-grid">
          <Field
            label="Name"
            name="name"
            value={name}
            required
            autoFocus
            failure={failure}
            onInput={setName}
            hint="For people."
          />
          <Field
            label="Owner"
            name="owner"
            value={owner}
            failure={failure}
            onInput={setOwner}
            hint="Who answers for it; empty: operator."
          />
          {agents.length > 1 && (
            <Select
              label="Agent"
              value={agent}
              options={agents.map((each) => ({ value: each, text: each }))}
              onChange={(value) => {
                setAgent(value);
                setQueues(undefined);
              }}
            />
          )}
          <Select label="It may" value={purpose} options={PURPOSES} onChange={setPurpose} />
          {offered.length > 0 ? (
            <CheckGroup
              legend="Queues"
              options={offered}
              chosen={listed}
              fault={fieldFault(failure, "queues")}
              onChange={setQueues}
            />
          ) : (
            <Field
              label="Queues"
              name="queues"
              value={typedQueues}
              failure={failure}
              onInput={setTypedQueues}
              hint="Separated by commas."
            />
          )}
          <fieldset class="checks">
            <legend>Besides</legend>
            <Check label="Open streams" checked={streaming} onChange={setStreaming} />
            <Check label="Register push notifications" checked={push} onChange={setPush} />
          </fieldset>
          <ExpiryField label="Expires" value={expires} failure={failure} onInput={setExpires} />
        </div>
        {purpose === "chosen" && (
          <CheckGroup
            legend="Verbs"
            options={[...SUBMIT_VERBS, ...WORK_VERBS]}
            chosen={verbs}
            fault={fieldFault(failure, "verbs")}
            onChange={setVerbs}
          />
        )}
        {failure !== undefined && <FailureNote failure={failure} />}
        <FormButtons action="Vend" disabled={busy} onClose={onClose} />
      </form>
    </Dialog>
  );
}
