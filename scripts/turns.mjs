/** Knows how what runs at the same time is written as if it ran one after the other. */

/**
 * What `out` is given through the writers that the result opens: the one opened first writes at once, and
 * what the next writes is kept until those before it have ended.
 */
export function takeTurns(out) {
  const turns = [];
  const go = () => {
    while (turns.length > 0) {
      for (const text of turns[0].kept.splice(0)) out.write(text);
      if (!turns[0].hasEnded) return;
      turns.shift();
    }
  };
  return () => {
    const turn = { kept: [], hasEnded: false };
    turns.push(turn);
    return {
      write: (text) => {
        turn.kept.push(text);
        go();
      },
      end: () => {
        turn.hasEnded = true;
        go();
      },
    };
  };
}
