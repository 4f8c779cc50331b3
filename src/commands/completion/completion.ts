/** Defines the `completion` command, which prints the completion script of a shell. */
import type { Command } from '../shared/command.ts';
import { requiredChoice } from '../shared/option.ts';
import { programWord } from '../shared/shell-line.ts';
import { completionScript, type Shell, shells } from './scripts.ts';

export const completion: Command<{ readonly shell: Shell }> = {
  examples: [
    ['source <(gatewright completion bash)', 'Add this to ~/.bashrc'],
    ['source <(gatewright completion zsh)', 'Add this to ~/.zshrc, below compinit'],
    [
      'gatewright completion fish > ~/.config/fish/completions/gatewright.fish',
      'Run this once, and again after an update',
    ],
  ],
  options: { shell: requiredChoice(shells, 'Shell that reads the script') },
  run: async ({ shell }, io) => {
    io.stdout.writeExact(completionScript(shell, programWord()));
    return 'success';
  },
};
