import { useEffect, useState } from "preact/hooks";

/** The time in milliseconds, again after each interval; undefined on the server and before the page is alive. */
export function useNow(intervalMs: number): number | undefined {
  const [now, setNow] = useState<number | undefined>(undefined);
  useEffect(() => {
    const tick = () => {
      setNow(Date.now());
    };
    tick();
    const timer = setInterval(tick, intervalMs);
    return () => {
      clearInterval(timer);
    };
  }, [intervalMs]);
  return now;
}

/** Whether the page is alive: false on the server and without JavaScript. */
export function useAlive(): boolean {
  const [isAlive, setAlive] = useState(false);
  useEffect(() => {
    setAlive(true);
  }, []);
  return isAlive;
}
