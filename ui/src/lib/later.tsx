import { type ComponentType, lazy, useState } from "react";

/**
 * A part of the page that is not in its first load. `warm` fetches it ahead of time; from then on it shows at once,
 * without the moment of a fallback that a lazy component has even when its file is here.
 */
export function later<P extends object>(load: () => Promise<ComponentType<P>>) {
  let here: ComponentType<P> | undefined;
  async function fetched() {
    here ??= await load();
    return { default: here };
  }
  const Fetched = lazy(fetched);
  function Later(props: P) {
    // The choice is kept: another type in the same place would be built anew.
    const [Part] = useState<ComponentType<P>>(() => here ?? (Fetched as unknown as ComponentType<P>));
    return <Part {...props} />;
  }
  return Object.assign(Later, { warm: () => void fetched() });
}
