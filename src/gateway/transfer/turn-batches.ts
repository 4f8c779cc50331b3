/** Lets concurrent requests take their next step together, so that the code of the step stays in the CPU caches. */

let waiting: (() => void)[] = [];
/** Requests that may take a step at any time. Open streams do not count: they only wait for bytes. */
let activeRequests = 0;
const resolved = Promise.resolve();

/** Counts a request that has begun. */
export function addActiveRequest(): void {
  activeRequests += 1;
}

/** Uncounts a request whose response has begun or that has ended; called exactly once per request. */
export function removeActiveRequest(): void {
  activeRequests -= 1;
}

/** Whether one request may take steps: counted between its beginning and its leaving, once. */
export class RequestTurns {
  #isActive = false;

  begin(): void {
    this.#isActive = true;
    addActiveRequest();
  }

  /** The response has begun, or the request waits for something else; later calls do nothing. */
  leave(): void {
    if (!this.#isActive) return;
    this.#isActive = false;
    removeActiveRequest();
  }
}

function resumeWaiting(): void {
  const batch = waiting;
  waiting = [];
  for (const resume of batch) resume();
}

/**
 * Resolves, in call order, when all input of this turn of the event loop has been read. Without it each
 * request would run through all steps alone and reload the code of every step, which takes longer than
 * the steps themselves (bench/README.md). Resolves at once when no other request is active.
 */
export function waitForTurn(): Promise<void> {
  if (activeRequests <= 1) return resolved;
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(resumeWaiting);
  });
}
