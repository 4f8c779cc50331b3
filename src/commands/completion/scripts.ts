/** Completion scripts for bash, zsh and fish. Each asks gatewright for the candidates on every Tab. */

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/**
 * yargs formats candidates by the SHELL variable, which holds the login shell rather than the shell
 * that runs, so each script sets it. `program` is the command line word that starts gatewright.
 */
export function completionScript(shell: Shell, program: string): string {
  return { bash, zsh, fish }[shell](program);
}

/** Runs on bash 3.2 and later. Without candidates, bash completes file names. */
function bash(program: string): string {
  return `# Completion of gatewright for bash: source <(gatewright completion bash)
_gatewright() {
  local line=() word candidates IFS=$'\\n'
  # Bash splits "--output=json" into three words.
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [ "$word" != '=' ]; then line+=("$word"); fi
  done
  word=\${COMP_WORDS[COMP_CWORD]}
  if [ "$word" = '=' ]; then
    word=''
    line+=('')
  fi
  candidates=$(SHELL=bash ${program} --get-yargs-completions gatewright "\${line[@]}" 2>/dev/null)
  COMPREPLY=($(compgen -W "$candidates" -- "$word"))
}
complete -o default -F _gatewright gatewright
`;
}

function zsh(program: string): string {
  return `#compdef gatewright
# Completion of gatewright for zsh: source <(gatewright completion zsh), below compinit
_gatewright() {
  local -a candidates
  candidates=("\${(@f)$(SHELL=zsh ${program} --get-yargs-completions gatewright "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${candidates[1]}" ]]; then _describe 'values' candidates; else _files; fi
}
if [ "$funcstack[1]" = _gatewright ]; then _gatewright "$@"; else compdef _gatewright gatewright; fi
`;
}

function fish(program: string): string {
  return `# Completion of gatewright for fish: gatewright completion fish
function __gatewright_candidates
  set -lx SHELL fish
  ${program} --get-yargs-completions gatewright (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null
end
complete -c gatewright -a '(__gatewright_candidates)'
`;
}
