#!/usr/bin/env node
/** Starts the program: reads arguments, turns signals into an abort, and sets the exit code. */
// A namespace import, because old versions of Node, which are rejected below, lack `enableCompileCache`.
import * as nodeModule from 'node:module';
import { exitCodes } from './commands/shared/exit-codes.ts';
import { packageVersion } from './package-root.ts';

/** Work that continues after the command has ended is cut off after this time. */
const graceMs = 10_000;
/** Ctrl-C arrives twice, from the terminal and from npm; a repetition within this time is ignored. */
const sameSignalMs = 1_000;
const nodeMajorMin = 24;
const signalNumbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

const cliArguments = process.argv.slice(2);
if (['--version', '-v', '-V', 'version'].includes(cliArguments[0] ?? '')) {
  process.stdout.write(`gatewright ${packageVersion()}\n`);
} else if (Number.parseInt(process.versions.node, 10) < nodeMajorMin) {
  process.stderr.write(`gatewright needs Node ${nodeMajorMin}; this is ${process.version}\n`);
  process.exitCode = exitCodes.invalidInput;
} else {
  await run();
}

/** Opens standard error and ignores its errors: its reader may have exited. */
function openStderr(): NodeJS.WriteStream {
  if (process.stderr.listenerCount('error') === 0) process.stderr.on('error', () => {});
  return process.stderr;
}

/** A process with an IPC channel (scripts/run.mjs) stops in order when its parent ends, even by SIGKILL. */
function stopWithParent(stop: () => void): void {
  if (process.connected === false) stop();
  process.once('disconnect', stop);
  // The channel must not keep the process alive.
  process.channel?.unref();
}

async function run(): Promise<void> {
  // Caches compiled code in the folder for temporary files, per user and version of Node.
  nodeModule.enableCompileCache();
  const controller = new AbortController();
  let interruptedBy: keyof typeof signalNumbers | null = null;
  let interruptedAt = 0;
  for (const name of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      const now = performance.now();
      if (interruptedBy === null) interruptedAt = now;
      // A second signal exits at once; children end with this process.
      else if (now - interruptedAt > sameSignalMs) process.exit(128 + signalNumbers[name]);
      interruptedBy = name;
      controller.abort();
    });
  }
  stopWithParent(() => controller.abort());
  // Stops when the reader of the output has exited (`| head`).
  process.stdout.on('error', () => controller.abort());
  const { loadProgram } = await import('./program.ts');
  const { commandLine, saveCompiledCode } = await loadProgram(cliArguments[0] ?? '');
  const ending = await commandLine.runCommandLine(cliArguments, {
    // Opened on first use, because opening takes time.
    get stdin() {
      return process.stdin;
    },
    stdout: process.stdout,
    get stderr() {
      return openStderr();
    },
    signal: controller.signal,
    cwd: process.cwd(),
    onStarted: saveCompiledCode,
  });
  process.exitCode =
    ending === 'interrupted' ? 128 + signalNumbers[interruptedBy ?? 'SIGTERM'] : exitCodes[ending];
  setTimeout(() => process.exit(), graceMs).unref();
}
