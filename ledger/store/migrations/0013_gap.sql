-- Nothing: the number is kept for a migration that is made elsewhere at the same time, whose file takes the place of this one.
SELECT true;
