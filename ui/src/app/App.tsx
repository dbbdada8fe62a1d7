import { Tooltip } from "@base-ui/react/tooltip";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useEffect, useState } from "react";

import { Toasts } from "@/components/Toasts";
import type { Host } from "@/host/host";
import { HostContext } from "@/state/ask";
import { startFeed } from "@/state/feed";

import { makeRouter } from "./router";

type AppRouter = ReturnType<typeof makeRouter>;

/** The whole page over one host. */
export function App({ host, router }: { host: Host; router: AppRouter }) {
  const [queries] = useState(
    () =>
      new QueryClient({
        // Answers stay until an event says that they changed; a refusal is shown, not hidden by retries.
        defaultOptions: {
          queries: { staleTime: Infinity, retry: false, refetchOnWindowFocus: false, networkMode: "always" },
          mutations: { networkMode: "always" },
        },
      }),
  );
  useEffect(() => startFeed(host, queries), [host, queries]);
  return (
    <HostContext value={host}>
      <QueryClientProvider client={queries}>
        <Tooltip.Provider delay={500} closeDelay={0}>
          <RouterProvider router={router} />
          <Toasts />
        </Tooltip.Provider>
      </QueryClientProvider>
    </HostContext>
  );
}
