import "@fontsource-variable/inter/opsz.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "./styles/index.css";

import inter from "@fontsource-variable/inter/files/inter-latin-opsz-normal.woff2?url";
import { StrictMode } from "react";
import { preload } from "react-dom";
import { createRoot } from "react-dom/client";

import { App } from "./app/App";
import { makeRouter } from "./app/router";
import { chooseHost } from "./host/choose";
import { startTexts } from "./i18n";
import { warmPicker } from "./features/picker/ModelPicker";
import { warmMarkdown } from "./markdown";

// The letters of the first words, asked for before a style needs them.
preload(inter, { as: "font", type: "font/woff2", crossOrigin: "anonymous" });
const [host] = await Promise.all([chooseHost(), startTexts()]);
const place = document.getElementById("root");
if (place) {
  createRoot(place).render(
    <StrictMode>
      <App host={host} router={makeRouter()} />
    </StrictMode>,
  );
  // After the first picture, before the first click.
  setTimeout(() => {
    warmMarkdown();
    warmPicker();
  }, 300);
}
