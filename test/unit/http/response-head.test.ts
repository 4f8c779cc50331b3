/** Verifies that the head of a response is written whatever its values contain. */
import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  endAbruptly,
  visibleHeaderValue,
  writeResponseHead,
} from '../../../src/http/responses/response-head.ts';

const responseOf = () => new ServerResponse(new IncomingMessage(new Socket()));

function headOf(status: number, headers: OutgoingHttpHeaders): string {
  const response = responseOf();
  writeResponseHead(response, status, headers);
  return String(Reflect.get(response, '_header'));
}

describe('the head of a response', () => {
  it.each([
    ['a\r\nx-b: 1', 'a%0D%0Ax-b: 1'],
    ['a\0b', 'a%00b'],
    ['a\x7fb', 'a%7Fb'],
    ['内部', '%E5%86%85%E9%83%A8'],
    ['😀', '%F0%9F%98%80'],
    ['\ud800', '%EF%BF%BD'],
    ['a\tb', 'a\tb'],
  ])('holds %j as %s', (value, encoded) => {
    expect(headOf(200, { 'x-a': value, 'x-c': ['d', value] })).toContain(
      `x-a: ${encoded}\r\nx-c: d\r\nx-c: ${encoded}\r\n`,
    );
  });

  it('keeps bytes beyond ASCII of a provider and drops names that are none', () => {
    expect(headOf(200, { 'x-a': 'caf\u00e9' })).toContain('x-a: caf\u00e9\r\n');
    const head = headOf(200, { 'a b': '1', 'x-a': '内', 'x-b': undefined });
    expect(head).not.toMatch(/a b|x-b/);
  });

  it.each([0, 99, 101, 199, 1000])('has status 502 in place of %i', (status) => {
    expect(headOf(status, {})).toMatch(/^HTTP\/1.1 502 /);
  });

  it('is 500 without anything from outside when the request ends abruptly', () => {
    const response = responseOf();
    endAbruptly(response);
    expect([response.statusCode, response.writableEnded]).toEqual([500, true]);
  });
});

describe('a text from outside in a header', () => {
  it('is visible ASCII of bounded length', () => {
    expect(visibleHeaderValue('@team')).toBe('@team');
    expect(visibleHeaderValue('é\t\n')).toBe('%C3%A9\t%0A');
    expect(visibleHeaderValue('a'.repeat(70_000))).toHaveLength(1024);
  });
});
