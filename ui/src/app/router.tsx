import { createBrowserHistory, parseHref } from "@tanstack/history";
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  type RouterHistory,
} from "@tanstack/react-router";

import { ChatPage, NewChatPage } from "@/features/chat/ChatPage";

import { Shell } from "./Shell";

const root = createRootRoute({ component: Shell });

const home = createRoute({ getParentRoute: () => root, path: "/", component: NewChatPage });

const chat = createRoute({
  getParentRoute: () => root,
  path: "/c/$id",
  validateSearch: (search): { m?: string } => (typeof search["m"] === "string" ? { m: search["m"] } : {}),
  component: function OpenChat() {
    const { id } = chat.useParams();
    const { m: at } = chat.useSearch();
    // A new conversation is a new page: its scroll position, draft and faults are its own.
    return <ChatPage key={id} id={id} {...(at === undefined ? {} : { at })} />;
  },
});

const models = createRoute({
  getParentRoute: () => root,
  path: "/models",
  validateSearch: (search): { model?: string; hub?: string; repo?: string } => ({
    ...(typeof search["model"] === "string" ? { model: search["model"] } : {}),
    ...(typeof search["hub"] === "string" ? { hub: search["hub"] } : {}),
    ...(typeof search["repo"] === "string" ? { repo: search["repo"] } : {}),
  }),
  component: lazyRouteComponent(() => import("@/features/models/ModelsPage"), "ModelsPage"),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  validateSearch: (search): { section?: string } =>
    typeof search["section"] === "string" ? { section: search["section"] } : {},
  component: lazyRouteComponent(() => import("@/features/settings/SettingsPage"), "SettingsPage"),
});

const machine = createRoute({
  getParentRoute: () => root,
  path: "/machine",
  component: lazyRouteComponent(() => import("@/features/machine/MachinePage"), "MachinePage"),
});

const trash = createRoute({
  getParentRoute: () => root,
  path: "/trash",
  component: lazyRouteComponent(() => import("@/features/chat/TrashPage"), "TrashPage"),
});

const anything = createRoute({
  getParentRoute: () => root,
  path: "$",
  beforeLoad: () => {
    throw redirect({ to: "/" });
  },
});

/**
 * The place is kept in the fragment: it works from a file, in the shell and behind any HTTP host alike. The
 * library's own hash history mixes the page's query, such as a sign-in token, into the place's.
 */
function fragmentHistory(): RouterHistory {
  return createBrowserHistory({
    parseLocation: () => parseHref(window.location.hash.slice(1) || "/", window.history.state),
    createHref: (href) => `${window.location.pathname}${window.location.search}#${href}`,
  });
}

export function makeRouter(history: RouterHistory = fragmentHistory()) {
  return createRouter({
    routeTree: root.addChildren([home, chat, models, machine, settings, trash, anything]),
    history,
    defaultPreload: "intent",
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
