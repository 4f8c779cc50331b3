/**
 * Checks that text contains no terminal control characters when printed, and that JSON stays
 * intact.
 */
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TextOutput } from '../../../src/commands/shared/text-output.ts';
import { createLog } from '../../../src/log.ts';
import { coloured, forTerminal, oneLine, printable } from '../../../src/terminal-text.ts';

/**
 * Matches by category, independently of the list in the code: controls, directions, surrogates,
 * line breaks.
 */
const forbidden = /(?!\n)\p{Cc}|\p{Cs}|\p{Bidi_Control}|[\u2028\u2029]/u;

/** Any text, with the relevant characters more often. */
const anyText = fc.string({
  unit: fc.oneof(
    fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code)),
    fc.integer({ min: 0, max: 0xff }).map((code) => String.fromCharCode(code)),
    fc.constantFrom('\u001b[2J', '\r', '\u0000', '\u009b', '\u202e', '\ud800', '\udc00', '\ufdd0'),
  ),
});

function written(write: (output: TextOutput) => void, isTTY = false): string {
  const stream = Object.assign(new PassThrough(), { isTTY });
  write(
    new TextOutput(
      () => stream,
      () => true,
    ),
  );
  return stream.read()?.toString() ?? '';
}

describe('printable text', () => {
  it('contains no control character for any input, and is idempotent', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(printable(text)).not.toMatch(forbidden);
        expect(oneLine(text)).not.toMatch(/\n/);
        expect(printable(printable(text))).toBe(printable(text));
      }),
    );
  });

  it('spells removed characters out, and leaves every other character unchanged', () => {
    expect(printable('a\u001b[2Jb\rc\u0000d\u007f')).toBe('a\\u001b[2Jb\\u000dc\\u0000d\\u007f');
    expect(printable('\ud800 \u{1f600} \u{fffd}')).toBe('\\ud800 \u{1f600} \u{fffd}');
    expect(printable('Grüße, 世界\nעברית')).toBe('Grüße, 世界\nעברית');
    expect(oneLine('a\nb')).toBe('a\\u000ab');
  });

  it('keeps JSON intact', () => {
    fc.assert(
      fc.property(fc.dictionary(anyText, anyText), (document) => {
        const text = written((output) => output.writeJson(document));
        expect(text).not.toMatch(forbidden);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(document)));
      }),
    );
  });
});

describe('the output of a command', () => {
  it('contains no escape sequences except its own colours, and those at a terminal only', () => {
    const own = /\u001b\[(?:0|2|31|32|33|35|36)m/g;
    fc.assert(
      fc.property(anyText, anyText, (name, message) => {
        const text = `${coloured('red', name)} ${message}\n`;
        expect(written((output) => output.write(text))).not.toMatch(forbidden);
        const atTerminal = written((output) => output.write(text), true);
        expect(atTerminal.replaceAll(own, '')).not.toMatch(forbidden);
      }),
    );
    expect(forTerminal(coloured('red', 'x'), { color: true })).toBe('\u001b[31mx\u001b[0m');
    expect(forTerminal(coloured('red', 'x'), { color: false })).toBe('x');
  });

  it('prevents names from setting a colour', () => {
    expect(forTerminal(coloured('dim', 'a\u001b[31m\ufdd1b'), { color: true })).toBe(
      '\u001b[2ma\\u001b[31m\\ufdd1b\u001b[0m',
    );
  });
});

describe('a log line', () => {
  it('contains no control character, and is intact JSON', () => {
    fc.assert(
      fc.property(anyText, (name) => {
        let line = '';
        const write = (text: string): void => {
          line += text;
        };
        createLog({ level: 'warn', destination: { write } }).warn({ name }, name);
        expect(line).not.toMatch(forbidden);
        expect(JSON.parse(line).name.toWellFormed()).toBe(name.toWellFormed());
      }),
    );
  });
});
