import "@fontsource-variable/inter/opsz.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "./styles/index.css";

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { App } from "./app/App";
import { firstAppearance } from "./app/appearance";
import { makeRouter } from "./app/router";
import { chooseHost } from "./host/choose";
import { startTexts } from "./i18n";
import { warmMarkdown } from "./markdown";

firstAppearance();
const [host] = await Promise.all([chooseHost(), startTexts()]);
const place = document.getElementById("root");
if (place) {
  createRoot(place).render(
    <StrictMode>
      <App host={host} router={makeRouter()} />
    </StrictMode>,
  );
  setTimeout(warmMarkdown, 300);
}
