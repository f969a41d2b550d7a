import { render } from "preact";
import { App } from "./app";
import { beginLanguage } from "./i18n";
import { begin } from "./live";
import { beginTheme } from "./theme";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/parts.css";
import "./styles/cluster.css";
import "./styles/views.css";

beginTheme();
beginLanguage();
const root = document.getElementById("page");
if (root) {
  render(<App />, root);
  begin();
}
