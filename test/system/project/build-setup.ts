/** Builds the program for the system tests, once a run, and removes it afterwards. */
import type { TestProject } from 'vitest/node';
import { buildProgram } from '../../support/run/built-program.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the built `main.js`, which starts in half the time of the sources. */
    builtProgram: string;
  }
}

export default async function setup(project: TestProject): Promise<() => void> {
  const program = await buildProgram();
  project.provide('builtProgram', program.path);
  return () => program[Symbol.dispose]();
}
