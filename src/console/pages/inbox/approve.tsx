import { useState } from "preact/hooks";
import type { Grant } from "../../../../gen/baton/admin/v1/grant_pb.js";
import { grants } from "../../api/clients.ts";
import { fieldFault } from "../../api/failure.ts";
import { Check, CheckGroup } from "../../parts/check-group.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { ExpiryField, expiryOf } from "../../parts/expiry-field.tsx";
import { FailureNote } from "../../parts/failure-note.tsx";
import { FormButtons } from "../../parts/form-buttons.tsx";
import { useAction } from "../../parts/use-action.ts";

/** Approves a friend request: for what was asked, or for less. */
export function ApproveDialog(props: { readonly grant: Grant; onClose(): void; onDone(): void }) {
  const { grant, onClose, onDone } = props;
  const asked = grant.requested;
  const [queues, setQueues] = useState<ReadonlySet<string>>(new Set(asked?.queues));
  const [verbs, setVerbs] = useState<ReadonlySet<string>>(new Set(asked?.verbs));
  const [streaming, setStreaming] = useState(asked?.streaming ?? false);
  const [push, setPush] = useState(asked?.push ?? false);
  const [expires, setExpires] = useState("");
  const { busy, failure, start } = useAction(async () => {
    await grants.approveGrant({
      id: grant.id,
      queues: [...queues],
      verbs: [...verbs],
      withoutStreaming: !streaming,
      withoutPush: !push,
      ...expiryOf(expires),
    });
    onDone();
    onClose();
  });
  // Both lists empty would mean all that was asked for.
  const nothing = queues.size === 0 || verbs.size === 0;
  return (
    <Dialog title={`Approve the request of ${grant.fromPersona}`} wide onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          start();
        }}
      >
        <p>Take away what should not be granted. More than was asked for cannot be.</p>
        <CheckGroup
          legend="Queues"
          options={asked?.queues ?? []}
          chosen={queues}
          fault={fieldFault(failure, "queues")}
          onChange={setQueues}
        />
        <CheckGroup
          legend="Verbs"
          options={asked?.verbs ?? []}
          chosen={verbs}
          fault={fieldFault(failure, "verbs")}
          onChange={setVerbs}
        />
        <fieldset class="checks">
          <legend>Besides</legend>
          {asked?.streaming && <Check label="Open streams" checked={streaming} onChange={setStreaming} />}
          {asked?.push && <Check label="Register push notifications" checked={push} onChange={setPush} />}
          {!asked?.streaming && !asked?.push && <span class="faint">nothing was asked for</span>}
        </fieldset>
        <ExpiryField label="Ends" value={expires} failure={failure} onInput={setExpires} />
        {nothing && <p class="fault">Keep a queue and a verb, or deny the request.</p>}
        {failure !== undefined && <FailureNote failure={failure} />}
        <FormButtons action="Approve" disabled={busy || nothing} onClose={onClose} />
      </form>
    </Dialog>
  );
}
