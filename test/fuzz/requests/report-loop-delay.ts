/** Reports the longest block of the event loop to the parent process, and ends with it; loaded before the product. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

const resolutionMs = 10;
const reportMs = 1_000;

const delays = monitorEventLoopDelay({ resolution: resolutionMs });
delays.enable();
const timer = setInterval(() => {
  process.send?.({ longestBlockMs: delays.max / 1e6 });
}, reportMs);
timer.unref();
process.on('disconnect', () => process.exit());
process.channel?.unref();
