# Time of a message against its length
# `gnuplot echo-time.gp` writes echo-time.svg; for PDF or PNG: gnuplot -e "out='echo-time.pdf'" echo-time.gp
# Values are in base units: ns, bytes, bytes/s.
if (!exists('out')) out = 'echo-time.svg'
if (strlen(out) > 4 && out[strlen(out)-3:] eq '.png') \
    set terminal pngcairo noenhanced size 1440,1120 fontscale 1.6 linewidth 2; \
else if (strlen(out) > 4 && out[strlen(out)-3:] eq '.pdf') \
    set terminal pdfcairo noenhanced size 6,4.67 fontscale 0.6; \
else \
    set terminal svg noenhanced size 720,560 font 'Arial,12'
set output out
set encoding utf8
set title 'Time of a message against its length'
set grid lt 1 lc rgb '#dddddd'
set tics nomirror
set key outside top left horizontal Left reverse
set lmargin at screen 0.13
set rmargin at screen 0.97
set datafile separator comma
set datafile commentschars ''
$data << EOD
series,x_bytes,y_ns,low_ns,high_ns,p25_ns,p75_ns,residual_percent,hollow,note
echo,0,410,397.7,426.40000000000003,352.6,492,,,
echo,1,432.79718650911747,419.81327091384395,450.10907396948215,372.205580397841,519.356623810941,,,
echo,2,411.6428585491602,399.2935727926854,428.10857289112664,354.01285835227776,493.97143025899226,,,
echo,4,424.22129496276966,411.49465611388655,441.19014676128046,364.8303136679819,509.0655539553236,,,
echo,8,420.1680349693185,407.56299392023897,436.9747563680913,361.3445100736139,504.20164196318217,,,
echo,16,423.1215017437967,410.4278566914828,440.04636181354863,363.88449149966516,507.74580209255606,,,
echo,32,429.3817726720701,416.500319491908,446.5570435789529,369.2683244979803,515.2581272064841,,1,
echo,64,421.8282423908937,409.1733951191669,438.7013720865295,362.7722884561686,506.19389086907245,,,
echo,128,408.2397018284173,395.9925107735648,424.56928990155404,351.08614357243886,489.88764219410075,,,
echo,256,428.5511216436586,415.6945879943488,445.69316650940493,368.5539646135464,514.2613459723902,,,machine changed its speed
echo,512,470.64172144274835,456.5224697994659,489.4673903004583,404.75188044076356,564.770065731298,,,
echo,1024,527.1725073814309,511.357332159988,548.2594076766882,453.3683563480306,632.6070088577171,,,
echo,2048,623.4699936431135,604.7658938338201,648.408793388838,536.1841945330776,748.1639923717362,,,
echo,4096,901.2702332695095,874.2321262714242,937.32104260029,775.0924006117782,1081.5242799234113,,1,
echo,8192,1377.6716639222648,1336.3415140045968,1432.7785304791555,1184.7976309731478,1653.2059967067178,,,
echo,16384,2439.0645505184993,2365.8926140029444,2536.6271325392395,2097.5955134459095,2926.877460622199,,,
echo,32768,4583.602467734079,4446.094393702057,4766.946566443443,3941.898122251308,5500.322961280895,,,
echo,65536,8489.762354304581,8235.069483675443,8829.352848476765,7301.19562470194,10187.714825165496,,,
echo,131072,16762.1347041253,16259.27066300154,17432.62009229031,14415.435845547758,20114.561644950358,,,
echo,262144,32483.623286685957,31509.114588085376,33782.96821815339,27935.916026549923,38980.347944023146,,,
echo,524288,66212.66227873134,64226.2824103694,68861.16876988059,56942.88955970895,79455.1947344776,,1,
echo,1048576,130449.53458250688,126536.04854503166,135667.51596580716,112186.59974095592,156539.44149900824,,,
echo: t0 + n / r_inf,0,410,,,,,,,
echo: t0 + n / r_inf,1,410.12,,,,,,,
echo: t0 + n / r_inf,2,410.24,,,,,,,
echo: t0 + n / r_inf,4,410.48,,,,,,,
echo: t0 + n / r_inf,8,410.96,,,,,,,
echo: t0 + n / r_inf,16,411.92,,,,,,,
echo: t0 + n / r_inf,32,413.84,,,,,,,
echo: t0 + n / r_inf,64,417.68,,,,,,,
echo: t0 + n / r_inf,128,425.36,,,,,,,
echo: t0 + n / r_inf,256,440.72,,,,,,,
echo: t0 + n / r_inf,512,471.44,,,,,,,
echo: t0 + n / r_inf,1024,532.88,,,,,,,
echo: t0 + n / r_inf,2048,655.76,,,,,,,
echo: t0 + n / r_inf,4096,901.52,,,,,,,
echo: t0 + n / r_inf,8192,1393.04,,,,,,,
echo: t0 + n / r_inf,16384,2376.08,,,,,,,
echo: t0 + n / r_inf,32768,4342.16,,,,,,,
echo: t0 + n / r_inf,65536,8274.32,,,,,,,
echo: t0 + n / r_inf,131072,16138.64,,,,,,,
echo: t0 + n / r_inf,262144,31867.28,,,,,,,
echo: t0 + n / r_inf,524288,63324.56,,,,,,,
echo: t0 + n / r_inf,1048576,126239.12,,,,,,,
echo,0,,,,,,0,,
echo,1,,,,,,5.5294027380077715,,
echo,2,,,,,,0.3419604497757911,,
echo,4,,,,,,3.347616196348091,,
echo,8,,,,,,2.2406158675585264,,
echo,16,,,,,,2.719339129878784,,
echo,32,,,,,,3.75550277210277,,
echo,64,,,,,,0.9931628018803096,,
echo,128,,,,,,-4.024896128357791,,
echo,256,,,,,,-2.76113594943308,,
echo,512,,,,,,-0.16932771026040294,,
echo,1024,,,,,,-1.0710652714624458,,
echo,2048,,,,,,-4.92405855143444,,
echo,4096,,,,,,-0.027705068161598678,,
echo,8192,,,,,,-1.1032228850381354,,
echo,16384,,,,,,2.650775669106231,,
echo,32768,,,,,,5.560423101269407,,
echo,65536,,,,,,2.6037469460279627,,
echo,131072,,,,,,3.8633658358157907,,
echo,262144,,,,,,1.9340944275318073,,
echo,524288,,,,,,4.56079328262422,,
echo,1048576,,,,,,3.3352692750922897,,
n_half 3.4 kB,3417,,,,,,,,line
t0 0.41 us,,410,,,,,,,line
EOD
set multiplot
set tmargin at screen 0.85
set bmargin at screen 0.34
x(v) = v==0 ? 0.273194 : v
set logscale x 2
set xrange [0.175799:1589344]
set xtics ('' 0.2731944347752381, '' 1, '' 4, '' 16, '' 64, '' 256, '' 1024, '' 4096, '' 16384, '' 65536, '' 262144, '' 1048576)
set xlabel ''
set logscale y 10
set yrange [292.373:187975]
set ytics ('1' 1000, '10' 10000, '100' 100000)
set ylabel 'one-way time (µs)'
set arrow from 3417, graph 0 to 3417, graph 1 nohead dt 2 lc rgb '#0072b2'
set label 'n_half 3.4 kB' at 3417, graph 0.96 left offset 0.5,0 tc rgb '#0072b2'
set arrow from graph 0, first 410 to graph 1, first 410 nohead dt 2 lc rgb '#0072b2'
set label 't0 0.41 us' at graph 0.99, first 410 right offset 0,0.6 tc rgb '#0072b2'
plot $data every ::1::22 using (x($2)):6:7 with filledcurves lc rgb '#0072b2' fs transparent solid 0.15 notitle, \
     $data every ::1::22 using (x($2)):($3):4:5 with yerrorbars lc rgb '#0072b2' pt 0 notitle, \
     $data every ::1::22 using (x($2)):($3) with linespoints lc rgb '#0072b2' dt 1 pt 7 ps 0.7 title 'echo', \
     $data every ::1::22 using (x($2)):($9==1 ? ($3) : NaN) with points lc rgb 'white' pt 7 ps 0.7 notitle, \
     $data every ::1::22 using (x($2)):($9==1 ? ($3) : NaN) with points lc rgb '#0072b2' pt 6 ps 0.7 notitle, \
     $data every ::23::44 using (x($2)):($3) with lines lc rgb '#0072b2' dt 1 title 'echo: t0 + n / r_inf'
unset title
unset arrow
unset label
set tmargin at screen 0.30
set bmargin at screen 0.12
x(v) = v==0 ? 0.273194 : v
set logscale x 2
set xrange [0.175799:1589344]
set xtics ('0' 0.2731944347752381, '1' 1, '4' 4, '16' 16, '64' 64, '256' 256, '1Ki' 1024, '4Ki' 4096, '16Ki' 16384, '64Ki' 65536, '256Ki' 262144, '1Mi' 1048576)
set xlabel 'message length (B)'
unset logscale y
set yrange [-6:6]
set ytics ('-5' -5, '0' 0, '5' 5)
set ylabel 'residual (%)'
plot $data every ::45::66 using (x($2)):($8) with points lc rgb '#0072b2' pt 7 ps 0.7 notitle
unset multiplot
unset output
