/** Knows how bash is told what completes a line: a function for `complete`, without other packages. */
import { type CompletedCommand, optionsOf, type Taken, wordsOf } from './completed.ts';

/** Runs in bash from 3.2 on. Holds only words of ours, none of which a shell reads as more than text. */
export function bashScript(commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name).join(' ');
  return `# Completion of gatewright for bash: source <(gatewright completion bash)
_gatewright() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  local options='' valued='' takes='' words='' start='' alone=0 at word
  # Bash cuts "--output=json" into three words.
  if [ "$current" = '=' ]; then
    current=''
  elif [ "$before" = '=' ]; then
    before=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${names} help --help --version' -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
    help) takes='words ${names}' ;;
${commands.map(commandCase).join('')}    *) return ;;
  esac
  for ((at = 2; at < COMP_CWORD; at++)); do
    word=\${COMP_WORDS[at]}
    if [ "$word" = '=' ] || [[ " $valued " == *" \${COMP_WORDS[at-1]} "* ]] ||
      [ "\${COMP_WORDS[at-1]}" = '=' ]; then
      continue
    fi
    case "$word" in -*) ;; *) alone=$((alone + 1)) ;; esac
  done
  if [[ " $valued " == *" $before "* ]]; then
    case "\${COMP_WORDS[1]} $before" in
${commands.map(valueCases).join('')}      *) takes='any' ;;
    esac
  elif [[ "$current" == -* ]]; then
    takes="words $options"
  elif [ "\${COMP_WORDS[1]}" != help ]; then
    case "\${COMP_WORDS[1]} $alone" in
${commands.map(aloneCases).join('')}      *) takes='any' ;;
    esac
  fi
  words=\${takes#* }
  case "$takes" in
    words*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    list*)
      if [[ "$current" == *,* ]]; then start=\${current%,*},; fi
      COMPREPLY=($(compgen -P "$start" -W "$words" -- "\${current##*,}"))
      ;;
    file) _gatewright_paths -f "$current" ;;
    folder) _gatewright_paths -d "$current" ;;
  esac
}

_gatewright_paths() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen "$1" -- "$2"))
}

complete -F _gatewright gatewright
`;
}

function commandCase(command: CompletedCommand): string {
  const options = optionsOf(command);
  const spellings = options.flatMap(({ name, letter }) => [name, letter ?? []].flat());
  const valued = options
    .filter(({ value }) => value !== null)
    .flatMap(({ name, letter }) => [name, letter ?? []].flat());
  return `    ${command.name}) options='${spellings.join(' ')}' valued='${valued.join(' ')}' ;;\n`;
}

function valueCases(command: CompletedCommand): string {
  return optionsOf(command)
    .map(({ name, letter, value }) => {
      if (value === null || value.form === 'any') return '';
      const places = [name, letter ?? []].flat().map((spelling) => `'${command.name} ${spelling}'`);
      return `      ${places.join('|')}) takes='${spelled(value)}' ;;\n`;
    })
    .join('');
}

function aloneCases(command: CompletedCommand): string {
  return wordsOf(command)
    .map(({ takes, isRepeated }, at) => {
      const place = isRepeated ? `'${command.name} '*` : `'${command.name} ${at}'`;
      return `      ${place}) takes='${spelled(takes)}' ;;\n`;
    })
    .join('');
}

function spelled(taken: Taken): string {
  return 'words' in taken ? `${taken.form} ${taken.words.join(' ')}` : taken.form;
}
