import { Page } from "../parts/page.tsx";
import { address } from "../routing/place.ts";

export function NowherePage() {
  return (
    <Page title="No such page">
      <p>
        Nothing stands at <code>{location.pathname}</code>. Go to the <a href={address([])}>overview</a> or to
        the <a href={address(["tasks"])}>tasks</a>.
      </p>
    </Page>
  );
}
