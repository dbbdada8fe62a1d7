/** Answers of the scripted world: enough Markdown to judge every element of it. */
export const TIDES = `Tides are the sea answering the Moon.

The Moon pulls on the whole Earth, but it pulls a little harder on the side that faces it. Water can flow, so it heaps up there, and a second heap forms on the far side. As the Earth turns under these two heaps, most coasts see **two high tides a day**.

| | what pulls | what you see |
|---|---|---|
| spring tide | Sun and Moon in line | highest highs, lowest lows |
| neap tide | Sun and Moon at a right angle | a small difference |

Spring tides come around *new and full moon*, about every 14.8 days.`;

export const CODE = `Here is a small function and its test. It groups by ISO week, so the first days of January may belong to the last week of the year before.

\`\`\`python
from collections import defaultdict
from datetime import date


def by_week(days: list[date]) -> dict[tuple[int, int], list[date]]:
    """Group dates by ISO year and week, in order."""
    weeks = defaultdict(list)
    for day in sorted(days):
        year, week, _ = day.isocalendar()
        weeks[(year, week)].append(day)
    return dict(weeks)


def test_new_year_belongs_to_the_old_week():
    days = [date(2027, 1, 1), date(2026, 12, 28), date(2027, 1, 4)]
    assert by_week(days) == {
        (2026, 53): [date(2026, 12, 28), date(2027, 1, 1)],
        (2027, 1): [date(2027, 1, 4)],
    }
\`\`\`

Two things to know:

1. \`isocalendar()\` gives a named tuple since Python 3.9, so \`day.isocalendar().week\` works as well.
2. The result keeps its order, because a \`dict\` does.

> If you need weeks that start on Sunday, use \`strftime("%U")\` instead.`;

export const REASONING = `The user wants dates grouped by week. "Week" is ambiguous: ISO weeks start on Monday and the first week is the one with the first Thursday. Python's isocalendar gives that directly. A defaultdict keyed by (year, week) is simplest. The tricky case is the turn of the year: 1 January 2027 is a Friday, so it belongs to week 53 of 2026. A good test covers exactly that.`;

export const DINNERS = `Three dinners from what you have:

- **Monday:** fried rice with spinach and two eggs
- **Wednesday:** shakshuka with tomatoes, rice on the side
- **Friday:** spinach omelette with a tomato salad

Cook a double portion of rice on Monday; it fries better on the second day.`;
