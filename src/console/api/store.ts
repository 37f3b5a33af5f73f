import { useEffect, useState } from "preact/hooks";

/** Renders anew when a value outside of the components changes. `read` answers the same object until it does. */
export function useSyncExternal<T>(subscribe: (listener: () => void) => () => void, read: () => T): T {
  const [value, setValue] = useState(read);
  useEffect(() => {
    const update = () => setValue(() => read());
    // It may have changed between the rendering and this effect.
    update();
    return subscribe(update);
  }, [subscribe, read]);
  return value;
}
