/**
 * The operators' console: a page over the admin services, served by the gateway at /console. It keeps nothing but the
 * credential of the tab; what it shows is read anew while it is looked at, and every filter is in the address.
 *
 * @module
 */
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/shell.css";
import "./styles/content.css";
import "./styles/table.css";
import "./styles/task.css";
import "./styles/dialog.css";
import { render } from "preact";
import { startRouting } from "./routing/place.ts";
import { App } from "./shell/app.tsx";
import { startTheme } from "./shell/theme.ts";

startTheme();
startRouting();
const place = document.getElementById("app");
if (place !== null) render(<App />, place);
