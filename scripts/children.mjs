/** Knows how the scripts run other programs: one at a time, with signals handed on to it. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { delimiter, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

// An old Node has no import.meta.dirname, and the path of a URL is not that of a file: it spells spaces.
export const root = resolve(fileURLToPath(import.meta.url), '../..');
export const binaries = resolve(root, 'node_modules/.bin');

let child = null;
let interrupted = false;

/** Whether somebody wants all of it to end. */
export function isInterrupted() {
  return interrupted;
}

/** From now on a signal to this process goes to the program that runs, and no other is started. */
export function handOnSignals() {
  for (const name of ['SIGHUP', 'SIGINT', 'SIGTERM']) {
    process.on(name, () => {
      interrupted = true;
      child?.kill(name);
    });
  }
}

/** Lets the program that runs stop in order; no other is started. */
export function interrupt() {
  interrupted = true;
  if (child?.connected) child.disconnect();
  else child?.kill('SIGTERM');
}

/**
 * Resolves with the exit code, or with 128 and the signal's number as shells have it. `onStart` gets
 * the process.
 */
export function run(program, programArguments, { stdio = 'inherit', onStart = () => {} } = {}) {
  return new Promise((done) => {
    child = spawn(program, programArguments, {
      cwd: root,
      stdio,
      env: { ...process.env, PATH: `${binaries}${delimiter}${process.env.PATH ?? ''}` },
    });
    onStart(child);
    child.once('error', (error) => {
      say(`${program}: ${error.message}`);
      done(1);
    });
    child.once('close', (code, signal) => done(code ?? 128 + constants.signals[signal]));
  });
}

export function say(line) {
  process.stderr.write(`${line}\n`);
}
