(** * Binomial tails, and how many errors a sample shows

    [term n p j] is [P[Bin(n, p) = j]] and [tail n k p] is [P[Bin(n, p) ≤ k]], exactly. The tail
    falls when [p] grows, and the number of errors in [n] independent draws is binomial. *)

From mathcomp Require Import all_ssreflect all_algebra ring.
From dudley Require Import Draws.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Binomial.

Variable R : realFieldType.
Implicit Types p q : R.

Definition term n p j := 'C(n, j)%:R * (p ^+ j * (1 - p) ^+ (n - j)).

Definition tail n k p := \sum_(j < k.+1) term n p j.

Lemma term_ge0 n p j : 0 <= p <= 1 -> 0 <= term n p j.
Proof. by case/andP=> p0 p1; rewrite !mulr_ge0 ?ler0n ?exprn_ge0 ?subr_ge0. Qed.

Lemma term_small n p j : (n < j)%N -> term n p j = 0.
Proof. by move=> nj; rewrite /term bin_small ?mul0r. Qed.

Lemma sum_term n p : \sum_(j < n.+1) term n p j = 1.
Proof.
rewrite -(expr1n _ n) -[1 in RHS](subrK p) exprDn; apply: eq_bigr => j _.
by rewrite /term mulr_natl [p ^+ _ * _]mulrC.
Qed.

Lemma tail_ge0 n k p : 0 <= p <= 1 -> 0 <= tail n k p.
Proof. by move=> p01; apply: sumr_ge0 => j _; apply: term_ge0. Qed.

(** One draw more: it is an error with probability [p]. *)
Lemma termS n p j : term n.+1 p j.+1 = (1 - p) * term n p j.+1 + p * term n p j.
Proof.
rewrite /term binS natrD mulrDl subSS; congr (_ + _).
  have [nj|jn] := ltnP n j.+1; first by rewrite bin_small // !mul0r mulr0.
  by rewrite -(subnSK jn) [(1 - p) ^+ _.+1]exprS !mulrA; congr (_ * _); rewrite mulrC mulrA.
by rewrite [p ^+ _.+1]exprS -mulrA mulrCA.
Qed.

Lemma term0 n p : term n.+1 p 0 = (1 - p) * term n p 0.
Proof. by rewrite /term !bin0 !subn0 exprS !mul1r. Qed.

Lemma tailS n k p : tail n.+1 k.+1 p = (1 - p) * tail n k.+1 p + p * tail n k p.
Proof.
rewrite /tail big_ord_recl [in (1 - p) * _]big_ord_recl term0 mulrDr -addrA; congr (_ + _).
by rewrite !big_distrr -big_split; apply: eq_bigr => j _; rewrite /= /bump /= !add1n termS.
Qed.

Lemma tail_n0 n p : tail n.+1 0 p = (1 - p) * tail n 0 p.
Proof. by rewrite /tail !big_ord1 term0. Qed.

Lemma tail_0n k p : tail 0 k p = 1.
Proof.
rewrite /tail big_ord_recl big1 => [|j _]; last by rewrite term_small.
by rewrite /term bin0 !expr0 !mul1r addr0.
Qed.

Lemma tail_k n k p : 0 <= p <= 1 -> tail n k p <= tail n k.+1 p.
Proof. by move=> p01; rewrite /tail [X in _ <= X]big_ord_recr ler_addl term_ge0. Qed.

Lemma tail_all n k p : (n <= k)%N -> tail n k p = 1.
Proof.
move=> nk; rewrite -(sum_term n p) /tail (big_ord_widen _ (fun j => term n p j) (_ : n.+1 <= k.+1)%N) //.
rewrite [LHS](bigID (fun j : 'I_k.+1 => (j < n.+1)%N)) /= [X in _ + X]big1 ?addr0 // => j.
by rewrite -leqNgt => nj; rewrite term_small.
Qed.

Lemma tail_mono n k l p : 0 <= p <= 1 -> (k <= l)%N -> tail n k p <= tail n l p.
Proof.
move=> p01 /subnK<-; elim: (l - k)%N => [|i IH]; first by rewrite add0n.
by apply: le_trans IH _; rewrite addSn tail_k.
Qed.

(** More risk, fewer samples with few errors. *)
Lemma tail_anti n k p q : 0 <= p -> p <= q -> q <= 1 -> tail n k q <= tail n k p.
Proof.
move=> p0 pq q1; have q0 := le_trans p0 pq; have p1 := le_trans pq q1.
have p01 : 0 <= p <= 1 by rewrite p0.
have q01 : 0 <= q <= 1 by rewrite q0.
elim: n k => [|n IH] k; first by rewrite !tail_0n.
case: k => [|k].
  by rewrite !tail_n0 ler_pmul ?tail_ge0 ?subr_ge0 ?IH // ler_sub.
rewrite !tailS; apply: le_trans (_ : (1 - q) * tail n k.+1 p + q * tail n k p <= _).
  by rewrite ler_add // ler_wpmul2l ?subr_ge0 ?IH.
rewrite -subr_ge0.
have -> : (1 - p) * tail n k.+1 p + p * tail n k p - ((1 - q) * tail n k.+1 p + q * tail n k p) =
    (q - p) * (tail n k.+1 p - tail n k p).
  by ring.
by rewrite mulr_ge0 // subr_ge0 // tail_k.
Qed.

(** Errors and successes change places: a tail from above is a tail from below. *)
Lemma term_flip n p j : (j <= n)%N -> term n (1 - p) (n - j) = term n p j.
Proof. by move=> jn; rewrite /term bin_sub // subKn // subKr [(1 - p) ^+ _ * _]mulrC. Qed.

Lemma tail_flip n k p : (k < n)%N -> tail n k p + tail n (n - k.+1) (1 - p) = 1.
Proof.
move=> kn; rewrite -[RHS](sum_term n p) /tail.
rewrite -(big_mkord predT (fun j => term n p j)) -(big_mkord predT (fun j => term n p j)).
rewrite -(big_mkord predT (fun j => term n (1 - p) j)).
rewrite [RHS](big_cat_nat _ _ _ (leq0n k.+1)) /= 1?ltnW //; congr (_ + _).
rewrite [RHS]big_nat_rev /= -{2}[k.+1]add0n big_addn subSn //.
apply: eq_big_nat => i /andP[_]; rewrite ltnS => small; have ink : (i + k.+1 <= n)%N.
  by rewrite -(subnK kn) leq_add2r.
have jn : (n - i <= n)%N by rewrite leq_subr.
have -> : (k.+1 + n.+1 - (i + k.+1).+1 = n - i)%N by rewrite -addSn addnC subnDr subSS.
by rewrite -(term_flip _ jn) subKn // (leq_trans (leq_addr k.+1 i)).
Qed.

End Binomial.
