"""Heights of blocks with sums in logarithmic time: how many rows lie below, however long the transcript is (RND-1)."""

from __future__ import annotations


class Heights:
    """A Fenwick tree over non-negative heights that grows at its end."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._tree: list[int] = [0]

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def append(self, height: int) -> None:
        self._heights.append(height)
        place = len(self._heights)
        total, child = height, place - 1
        while child > place - (place & -place):
            total += self._tree[child]
            child -= child & -child
        self._tree.append(total)

    def set(self, index: int, height: int) -> None:
        change, self._heights[index] = height - self._heights[index], height
        place = index + 1
        while change and place < len(self._tree):
            self._tree[place] += change
            place += place & -place

    def remove(self, index: int) -> None:
        """In time linear in the number of heights; blocks are seldom removed."""
        heights = [*self._heights[:index], *self._heights[index + 1 :]]
        self._heights, self._tree = [], [0]
        for height in heights:
            self.append(height)

    def before(self, index: int) -> int:
        """The sum of the heights before `index`."""
        total, place = 0, min(index, len(self._heights))
        while place > 0:
            total += self._tree[place]
            place -= place & -place
        return total

    @property
    def total(self) -> int:
        return self.before(len(self._heights))
