import {
  type QueryClient,
  useMutation,
  type UseMutationResult,
  useQuery,
  type UseQueryResult,
} from "@tanstack/react-query";
import { createContext, use } from "react";

import { type Body, type CallError, type CallName, faultOf, type Host, type Reply } from "@/host/host";
import type { Fault } from "@/wire/wire";

export const HostContext = createContext<Host | null>(null);

export function useHost(): Host {
  const host = use(HostContext);
  if (!host) throw new Error("the page is not connected to a host");
  return host;
}

/** A question whose answer is kept until an event says that it changed. */
export function useAsk<N extends CallName>(
  name: N,
  body: Body<N>,
  options: { enabled?: boolean; keepLast?: boolean } = {},
): UseQueryResult<Reply<N>, CallError> {
  const host = useHost();
  return useQuery<Reply<N>, CallError>({
    queryKey: [name, body],
    queryFn: () => host.call(name, body),
    enabled: options.enabled ?? true,
    ...(options.keepLast ? { placeholderData: (last: Reply<N> | undefined) => last as never } : {}),
  });
}

/** Something to be done once, with its answer or its fault. */
export function useTell<N extends CallName>(name: N): UseMutationResult<Reply<N>, CallError, Body<N>> {
  const host = useHost();
  return useMutation<Reply<N>, CallError, Body<N>>({ mutationFn: (body) => host.call(name, body) });
}

export function faultOfResult(result: { error: unknown }): Fault | undefined {
  return result.error ? faultOf(result.error) : undefined;
}

/** Everything that was read by these calls is stale now. */
export function stale(queries: QueryClient, ...names: CallName[]): void {
  for (const name of names) void queries.invalidateQueries({ queryKey: [name] });
}
