/** Knows the `completion` command: the script by which a shell completes a line of gatewright. */

import type { Command } from '../shared/command.ts';
import { requiredChoice } from '../shared/option.ts';
import { bashScript } from './bash.ts';
import type { CompletedCommand } from './completed.ts';
import { fishScript } from './fish.ts';
import { zshScript } from './zsh.ts';

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
type Shell = keyof typeof scripts;

/** @param load every command, as the scripts are made of what the commands say of their options */
export function completion(
  load: () => Promise<readonly CompletedCommand[]>,
): Command<{ readonly shell: Shell }> {
  return {
    summary: 'Print the script by which a shell completes commands, options and values',
    examples: [
      ['source <(gatewright completion bash)', 'In ~/.bashrc'],
      ['source <(gatewright completion zsh)', 'In ~/.zshrc, below compinit'],
      [
        'gatewright completion fish > ~/.config/fish/completions/gatewright.fish',
        'Once, and after an update',
      ],
    ],
    options: { shell: requiredChoice(['bash', 'zsh', 'fish'], 'One of bash, zsh and fish') },
    run: async ({ shell }, io) => {
      io.stdout.writeExact(scripts[shell](await load()));
      return 'success';
    },
  };
}
